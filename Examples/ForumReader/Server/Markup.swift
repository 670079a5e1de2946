#if Programs
/// Pages like those of old forums: unclosed tags, raw ampersands, windows-1252, and elements before the body tag.
enum Markup {
  static func page(
    user: ForumWorld.Person?, classes: String = "", forum: Int? = nil, thread: Int? = nil, _ content: String
  ) -> [UInt8] {
    let place = (forum.map { " data-forum=\($0)" } ?? "") + (thread.map { " data-thread=\($0)" } ?? "")
    let door =
      user == nil
      ? "<a href=\"/account.php?action=loginform&amp;next=%2Findex.php#form\">LOG IN</a>"
      : "<a href=\"/account.php?action=logout&amp;ma=2d2f9704\">Log Out</a>"
    let warning = user?.probation.map { end in
      """
      <div id="probation_warn"><h4>YOU ARE ON PROBATION!</h4>
      You have been put on probation until \(end).  You cannot post while on probation.</div>
      """
    }
    return windows1252(
      """
      <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">
      <HTML><head><title>The Forums</title><meta http-equiv=Content-Type content="text/html; charset=windows-1252">
      <!--[if lt IE 8]><body class="banned"><![endif]-->
      <script>if (1 < 2 && "</b>") document.write("<body class='standarderror'>")</script>
      <div style="display:none;" id="loggedinusername">\(escaped(user?.name ?? "Unregistered Guest"))</div>
      </head>
      <body id="forums" class="\(classes)"\(place) data-user="\(user?.id ?? 0)">
      <div id=header><ul class=navigation><li><a href=/index.php>Forums</a><li>- <a href=/private.php>Private Messages</a><li>- \(door)</ul></div>
      <div id="content">\(warning ?? "")\(content)
      <p>Powered by nothing\u{A0}©
      """)
  }

  static func error(_ title: String, _ text: String, classes: String = "", user: ForumWorld.Person? = nil) -> [UInt8] {
    page(
      user: user, classes: "standarderror " + classes,
      "<div class=standard><h2>\(escaped(title))</h2><div class=inner>\(text)</div></div>")
  }

  /// The page bar of a list, with a menu of all pages.
  static func menu(_ current: Int, of total: Int, _ address: String) -> String {
    guard total > 1 else { return "<div class=\"pages top\"></div>" }
    func link(_ page: Int, _ title: String, _ mark: String) -> String {
      (1...total).contains(page)
        ? "<a href=\"\(address)&pagenumber=\(page)\" title=\"\(title)\">\(mark)</a>"
        : "<span class=disabled>\(mark)</span>"
    }
    let options = (1...total).map {
      "<option value=\"\($0)\"\($0 == current ? " selected=\"selected\"" : "")>\($0)</option>"
    }
    return """
      <div class="pages top">\(link(current - 1, "Previous page", "&lsaquo;"))<select data-url="\(address)">\(options.joined())</select>\
      \(link(current + 1, "Next page", "&rsaquo;")) <span class=disabled>\(total) &raquo;</span></div>
      """
  }

  /// The page bar of a list, with links instead of a menu.
  static func links(_ current: Int, of total: Int, _ address: String) -> String {
    let pages = (1...total).map { $0 == current ? "[\($0)]" : "<a href=\"\(address)&pagenumber=\($0)\">\($0)</a>" }
    return "<div class=\"pages top\">Pages (\(total)): \(pages.joined(separator: " "))</div>"
  }

  static func escaped(_ text: String) -> String {
    text.map { $0 == "<" ? "&lt;" : $0 == "&" ? "&amp;" : $0 == "\"" ? "&quot;" : String($0) }.joined()
  }

  /// Encodes text in windows-1252. Other characters become character references.
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
