#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The library of pages` {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Sources/Server/HandstampServer/Templates")

  private func texts(_ name: String) throws -> [String: String] {
    try JSONDecoder().decode([String: String].self, from: Data((PageLibrary.builtIn[name] ?? "").utf8))
  }

  @Test func `has every file of its folder, as it is there`() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
    #expect(Set(names) == Set(PageLibrary.builtIn.keys))
    for name in names {
      let text = try String(contentsOf: Self.folder.appendingPathComponent(name), encoding: .utf8)
      #expect(PageLibrary.builtIn[name] == text, "\(name)")
    }
  }

  @Test func `says the same in every language`() throws {
    let english = try texts("en.json")
    for name in PageLibrary.builtIn.keys where name.hasSuffix(".json") {
      let others = try texts(name)
      #expect(Set(others.keys) == Set(english.keys), "\(name)")
      for (key, text) in others {
        // The same values: a name that is missing would be an empty place in a sentence.
        let values = Set(text.matches(of: /\{\{[^}]*\}\}/).map { String($0.output) })
        let expected = Set((english[key] ?? "").matches(of: /\{\{[^}]*\}\}/).map { String($0.output) })
        #expect(values == expected, "\(name): \(key)")
        #expect(!text.isEmpty, "\(name): \(key)")
      }
    }
  }

  @Test func `demands of an operator's files what its own have`() {
    let all = PageLibrary.builtIn
    #expect(PageLibrary.silentDefects(of: all, among: all) == [])
  }

  @Test func `names only templates and texts that are there`() throws {
    let known = Set(try texts("en.json").keys)
      .union(PageLibrary.builtIn.keys.filter { $0.hasSuffix(".mustache") }.map { String($0.dropLast(9)) })
    for (name, text) in PageLibrary.builtIn where !name.hasSuffix(".css") && !name.hasSuffix(".js") {
      for match in text.matches(of: /\{\{> *([^ }]+) *\}\}/) {
        #expect(known.contains(String(match.output.1)), "\(name): \(match.output.1)")
      }
    }
  }

  @Test func `escapes values, also those inside a text`() throws {
    let library = try PageLibrary()
    let app: PageValue = .object(["name": "<b>&\"'"])
    let page = library.fragment("logout", ["title": "t", "app": app, "csrf": "<input>"], in: "en")
    #expect(page.contains("&lt;b&gt;&amp;&quot;&#39; asks to sign you out"))
    #expect(!page.contains("<b>"))
    #expect(page.contains("<input>"))
    // As a value of a context it is escaped by the template that shows it.
    #expect(library.text("consent.title", ["app": app], in: "en") == "Allow <b>&\"' to access your account?")
  }

  @Test func `writes times without a zero that a reader would not say`() throws {
    let pages = try PageWriter(PageSettings(), issuer: "https://id.example.org", mountPath: "")
    for (seconds, hour) in [(0, "0:05"), (9 * 3600, "9:05"), (10 * 3600, "10:05")] {
      let time = UnixTime(seconds: 1_795_478_709 + Int64(seconds))
      for (language, day) in [("en", "24 November 2026"), ("de", "24. November 2026")] {
        let dates = PageDates(pages: pages, language: language, now: time)
        let values = [dates.day(time), dates.minute(time), dates.second(time)]
        let texts = [day, "\(day), \(hour) UTC", "\(day), \(hour):09 UTC"]
        #expect(values == texts.map { .object(["iso": .text(time.description), "text": .text($0)]) })
      }
    }
  }

  @Test func `takes files of a folder in place of its own, and further languages`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pages-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    func write(_ text: String, _ name: String) throws {
      try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
    }
    // A file that replaces none: the package's own templates and texts are looked at for circles.
    try write("{}", "it.json")
    #expect(try PageLibrary(folder: folder).languages == ["en", "de", "it"])
    try write("<h1>{{title}}!</h1>{{> sign_in.submit}}", "message.mustache")
    try write("{{> a.1}}", "footer.mustache")
    try write(#"{"sign_in.submit": "Connexion", "language.name": "Français", "a.1": "x"}"#, "fr.json")
    let library = try PageLibrary(folder: folder)
    #expect(library.languages == ["en", "de", "fr", "it"])
    #expect(library.fragment("message", ["title": "x"], in: "fr") == "<h1>x!</h1>Connexion")
    #expect(library.text("sign_up.title", in: "fr") == "Create your account", "what a language lacks is English")
    /// Texts of which each has the next one, as often as `times`.
    func chain(_ count: Int, times: Int) -> String {
      let texts = (1...count).map { number in
        let next = number < count ? String(repeating: "{{> a.\(number + 1)}}", count: times) : "x"
        return #""a.\#(number)": "\#(next)""#
      }
      return "{\(texts.joined(separator: ", "))}"
    }
    try write(chain(8, times: 1), "it.json")
    #expect(try PageLibrary(folder: folder).text("a.1", in: "it") == "x")
    for (name, text) in [
      ("layout.mustache", "{{#open}}"), ("it.json", "[]"), ("it.json", #"{"nodot": "x"}"#),
      ("it.json", #"{"a.b": "{{#open}}"}"#),
      // Templates that include themselves, hide that they do, or would end the process in another way.
      ("sign_in.mustache", "{{> sign_in}}"), ("sign_in.mustache", "{{ > sign_in }}"),
      ("sign_in.mustache", "{{> footer}}{{> sign_in.title}}{{>sign_in}}"),
      ("it.json", chain(12, times: 1)), ("it.json", chain(9, times: 3)), ("sign_in.mustache", "{{>*lang}}"),
      ("sign_in.mustache", "{{ > * lang }}"),
      ("sign_in.mustache", "{{<*lang}}{{/*lang}}"),
      ("it.json", #"{"a.b": "{{> a.c}}", "a.c": "{{> a.b}}"}"#), ("sign_in.mustache", "{{=<% %>=}}<%> sign_in %>"),
      ("sign_in.mustache", String(repeating: "{{#a}}", count: 60) + String(repeating: "{{/a}}", count: 60)),
    ] {
      try write(text, name)
      #expect(throws: DescribedError.self, "\(name)") { try PageLibrary(folder: folder) }
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    #expect(throws: DescribedError.self) { try PageLibrary(folder: folder + "/none") }
    // Defects that would show without a word when the page is needed.
    for (name, text, words) in [
      ("forgot.mustache", #"<form method="post"><button>{{title}}</button></form>"#, "no {{{csrf}}}"),
      ("forgot.mustache", #"<FORM class="a" METHOD=POST>{{csrf}}</FORM>{{{csrf}}}"#, "no {{{csrf}}}"),
      ("forgot.mustache", #"<form method="post">{{{csrf}}}</form><form method='post'>"#, "no {{{csrf}}}"),
      ("forgot.mustache", "<h1>{{titel}}</h1>", "no page has a value titel"),
      ("forgot.mustache", "{{#site}}{{site.nmae}}{{/site}}", "no page has a value site.nmae"),
      ("forgot.mustache", "<h1>{{{title}}}</h1>", "title has to be escaped"),
      ("forgot.mustache", "{{> forgot.titel}}", "there is no forgot.titel to include"),
      ("forgot.mustache", "<p {{#app}}onclick='a()'{{/app}}>x</p>", "inline script"),
      ("forgot.mustache", "<script>\nalert(1)</script>", "inline script"),
      ("forgot.mustache", #"<a href="javascript:a()">x</a>"#, "inline script"),
      ("forgot.mustache", #"<p style="color: red">x</p>"#, "inline script or style"),
      ("sign-in.mustache", "<h1>{{title}}</h1>", "no page has it"),
      ("sign_in.mustache", "{{> providers}}{{> borrowed}}", "there is no providers to include"),
      ("sign_in.mustache", "<h1>{{title}}</h1>", "it has no {{> borrowed}}"),
      ("sign_up.mustache", "<h1>{{title}}</h1>", "it has no {{> borrowed}}"),
      ("confirm.mustache", "<h1>{{title}}</h1>", "it has no {{> borrowed}}"),
      ("recover.mustache", "<h1>{{title}}</h1>", "it has no {{> borrowed}}"),
      ("confirm_end.mustache", "<h1>{{title}}</h1>", "it has no field single"),
      ("it.json", #"{"sign_in.submitt": "x"}"#, "it.json: sign_in.submitt: no page has it"),
      ("it.json", #"{"sign_in.submit": "{{nmae}}"}"#, "it.json: sign_in.submit: no page has a value nmae"),
      ("pt_BR.json", "{}", "pt_BR.json: pt_BR is not a language tag"),
    ] {
      try write(text, name)
      let refusal = #expect(throws: DescribedError.self, "\(text)") { try PageLibrary(folder: folder) }
      #expect(refusal?.description.contains(words) == true, "\(text): \(refusal?.description ?? "")")
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    // Forms in parts, or without a need for the token; scripts of the server; words that only look like attributes.
    try write("{{{csrf}}}", "token.mustache")
    try write(
      #"""
      <script src="{{js}}" defer></script><p data-on="{{site.name}}">we move on = soon</p>
      <form method="get"></form><form method="post" data-a="{{> common.show}}">{{> token}}</form>
      """#, "forgot.mustache")
    _ = try PageLibrary(folder: folder)
    // All defects of a folder are named at once.
    try write("<p>\n  {{#open}}", "layout.mustache")
    try write("{{name", "sign_in.mustache")
    try write(#"{"a.b": "{{x"}"#, "it.json")
    let refusal = #expect(throws: DescribedError.self) { try PageLibrary(folder: folder) }
    #expect(
      refusal?.description == """
        layout.mustache, line 2, column 12: expectedSectionEnd; sign_in.mustache, line 1, column 7: a tag without \
        an end; it.json: a.b, line 1, column 4: a tag without an end
        """)
  }

  @Test(
    arguments: [
      (nil, "en"), ("", "en"), ("de", "de"), ("de-CH, de;q=0.9, en;q=0.5", "de"), ("fr, de;q=0.4, en;q=0.7", "en"),
      ("*", "en"), ("*;q=0.5, de", "de"), ("de;q=0, *", "en"), ("en;q=0, de;q=0.1", "de"), ("fr", "en"),
      ("DE", "de"), (";;,=,q=", "en"), ("de;q=oops, en;q=0.1", "en"), (String(repeating: "x,", count: 9000), "en"),
      ("pt-br, en;q=0.5", "pt-BR"), ("pt-PT, en;q=0.5", "pt"), ("en;q=0.5, pt;q=0.6, pt-BR", "pt-BR"),
      ("pt, pt-BR;q=0.9", "pt"), ("pt-BR;q=0, pt;q=0.1", "pt"), ("zh-Hant-TW, de;q=0.5", "zh-Hant"),
      ("zh, -, de-", "de"),
    ] as [(String?, String)])
  func `chooses the language that the user accepts most`(field: String?, code: String) throws {
    #expect(LanguageChoice.best(field, of: ["en", "de", "pt", "pt-BR", "zh-Hant"]) == code)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An accent color` {
  @Test(arguments: ["#3451d1", "#000000", "#ffffff", "#ffe000", "#00ff00", "#777777", "#ff0000", "#E8A33D"])
  func `can be read in both modes, whatever it is`(text: String) throws {
    let style = try #require(AccentColor(text)).style
    let values = style.matches(of: /--([a-z-]+):(#[0-9a-f]{6})/)
    let colors = Dictionary(values.map { (String($0.output.1), AccentColor(String($0.output.2))) }) { $1 }
    func contrast(_ one: String, _ two: AccentColor?) throws -> Double {
      try #require(colors[one] ?? nil).contrast(to: try #require(two))
    }
    #expect(try contrast("accent", .white) >= 4.5)
    #expect(try contrast("accent", colors["on-accent"] ?? nil) >= 4.5)
    #expect(try contrast("accent-dark", AccentColor("#181b22")) >= 4.5)
    #expect(try contrast("accent-dark", colors["on-accent-dark"] ?? nil) >= 4.5)
  }

  @Test func `is used as it is where it can be read`() throws {
    let color = try #require(AccentColor("#3451d1"))
    #expect(color.style.contains("--accent:#3451d1;"))
  }

  @Test(arguments: ["", "#", "3451d1", "#12345", "#1234567", "#12345g", "red", "#-12345", "#+12345"])
  func `is refused if it is not one`(text: String) throws {
    #expect(AccentColor(text) == nil)
    #expect(throws: ServerConfigurationError.accent(text)) {
      var settings = PageSettings()
      settings.accent = text
      return try PageWriter(settings, issuer: "https://id.example.org", mountPath: "")
    }
  }
}
#endif
