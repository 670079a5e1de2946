#if Programs
/// Pages as old forums write them: unclosed tags, raw ampersands, windows-1252.
enum Markup {
  static func page(
    user: ForumWorld.Person?, classes: String = "", forum: Int = 0, thread: Int = 0, _ content: String
  ) -> [UInt8] {
    windows1252(
      """
      <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
      <HTML><head><title>The Forums</title><meta http-equiv=Content-Type content="text/html; charset=windows-1252">
      <script>if (1 < 2 && "</b>") document.write("<p>")</script></head>
      <body class="\(classes)" data-forum=\(forum) data-thread=\(thread) data-user="\(user?.id ?? 0)">
      <div id=header>Hello, <b id="loggedinusername">\(escaped(user?.name ?? "guest"))</b> <a href=/account.php?action=logout&x=1>out</a>
      <div id="content">\(content)
      <p>Powered by nothing\u{A0}©
      """)
  }

  static func error(_ title: String, _ text: String, classes: String = "", user: ForumWorld.Person? = nil) -> [UInt8] {
    page(
      user: user, classes: "standarderror " + classes,
      "<div class=standard><h2>\(escaped(title))</h2><div class=inner>\(text)</div></div>")
  }

  static func pages(_ current: Int, of total: Int) -> String {
    "<div class=\"pages top\" data-current-page=\(current) data-total-pages=\"\(total)\" data-per-page=40>Pages: \(total)<br></div>"
  }

  static func escaped(_ text: String) -> String {
    text.map { $0 == "<" ? "&lt;" : $0 == "&" ? "&amp;" : $0 == "\"" ? "&quot;" : String($0) }.joined()
  }

  /// What windows-1252 lacks becomes a reference.
  private static func windows1252(_ text: String) -> [UInt8] {
    let marks: [Unicode.Scalar: UInt8] = ["€": 0x80, "…": 0x85, "‘": 0x91, "’": 0x92, "“": 0x93, "”": 0x94, "–": 0x96]
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      if scalar.value < 0x80 || (0xA0...0xFF).contains(scalar.value) {
        bytes.append(UInt8(scalar.value))
      } else if let mark = marks[scalar] {
        bytes.append(mark)
      } else {
        bytes += Array("&#\(scalar.value);".utf8)
      }
    }
    return bytes
  }
}
#endif
