#if Server
import Foundation
package import HandstampSupport
import Mustache

/// The templates and texts of the pages, in every language: those of this package, or an operator's in their place.
///
/// A page is rendered with its context, and then into the `layout`, with the result as `content`. In a template, `{{> name}}` is
/// another template of the folder, and `{{> page.word}}` a text of the language: names of texts have a dot, those of templates none.
package struct PageLibrary: Sendable {
  /// Texts, which `LANGUAGE.json` has by key. Each is a template itself.
  private struct Language: Sendable {
    let pages: MustacheLibrary
    /// The same texts, for values of a context: without escapes, which the template makes.
    let texts: MustacheLibrary
  }

  private let byCode: [String: Language]
  /// The codes of the languages, such as `de`, English first.
  package let languages: [String]
  /// The style sheet and the script.
  package let style: String
  package let script: String
  /// The symbol of the service, in SVG, unless the operator has another one.
  package let icon: String

  /// Those of this package alone, which every server of a process shares.
  private static let own = Result { () throws(DescribedError) in try PageLibrary(files: builtIn) }

  /// - Parameter folder: files that replace those of the same name, and further languages; `nil` for none.
  package init(folder: String? = nil) throws(DescribedError) {
    guard let folder else {
      self = try PageLibrary.own.get()
      return
    }
    let own = try PageLibrary.files(in: folder)
    try self.init(files: PageLibrary.builtIn.merging(own) { $1 }, own: own)
  }

  private init(files: [String: String], own: [String: String] = [:]) throws(DescribedError) {
    style = files["pages.css"] ?? ""
    script = files["pages.js"] ?? ""
    icon = files["icon.svg"] ?? ""
    var defects: [String] = []
    func tried<Value>(_ body: () throws(DescribedError) -> Value) -> Value? {
      do throws(DescribedError) { return try body() } catch {
        if !defects.contains(error.description) { defects.append(error.description) }
        return nil
      }
    }
    let sources = files.filter { $0.key.hasSuffix(".mustache") }
    var templates: [String: MustacheTemplate] = [:]
    for (name, text) in sources.sorted(by: { $0.key < $1.key }) {
      templates[String(name.dropLast(".mustache".count))] = tried { () throws(DescribedError) in
        try PageLibrary.template(text, of: name)
      }
    }
    func texts(of name: String) -> [String: String]? {
      tried { () throws(DescribedError) in try PageLibrary.texts(files[name] ?? "{}", of: name) }
    }
    let english = texts(of: "en.json") ?? [:]
    var byCode: [String: Language] = [:]
    for name in files.keys.sorted() where name.hasSuffix(".json") {
      guard let own = texts(of: name) else { continue }
      // A text that a language lacks is English.
      let all = english.merging(own) { $1 }
      _ = tried { () throws(DescribedError) in try PageLibrary.refuseCircles(sources, all) }
      var (partials, plain) = (templates, [String: MustacheTemplate]())
      for (key, text) in all.sorted(by: { $0.key < $1.key }) {
        let place = "\(own[key] == nil ? "en.json" : name): \(key)"
        _ = tried { () throws(DescribedError) in
          partials[key] = try PageLibrary.template(text, of: place)
          plain[key] = try PageLibrary.parsed("{{% CONTENT_TYPE:TEXT}}" + text, of: place)
        }
      }
      byCode[String(name.dropLast(".json".count))] = Language(
        pages: MustacheLibrary(templates: partials), texts: MustacheLibrary(templates: plain))
    }
    if defects.isEmpty, !own.isEmpty { defects = PageLibrary.silentDefects(of: own, among: files) }
    guard defects.isEmpty else { throw DescribedError(defects.joined(separator: "; ")) }
    self.byCode = byCode
    languages = ["en"] + byCode.keys.filter { $0 != "en" }.sorted()
  }

  /// Returns a whole page.
  package func page(_ name: String, _ context: PageContext, in language: String) -> String {
    var rendered = context.rendered
    let pages = library(language).pages
    rendered["content"] = pages.render(rendered, withTemplate: name) ?? ""
    return pages.render(rendered, withTemplate: "layout") ?? ""
  }

  /// Returns one template without the layout.
  package func fragment(_ name: String, _ context: PageContext, in language: String) -> String {
    library(language).pages.render(context.rendered, withTemplate: name) ?? ""
  }

  /// Returns a text without escapes, for a value of a context; `nil` if there is none with that key.
  package func text(_ key: String, _ values: PageContext = [:], in language: String) -> String? {
    library(language).texts.render(values.rendered, withTemplate: key)
  }

  private func library(_ code: String) -> Language {
    // English is built in.
    byCode[code] ?? byCode["en"]
      ?? Language(pages: MustacheLibrary(templates: [:]), texts: MustacheLibrary(templates: [:]))
  }

  private static func template(_ text: String, of name: String) throws(DescribedError) -> MustacheTemplate {
    try check(text, of: name)
    return try parsed(text, of: name)
  }

  private static func check(_ text: String, of name: String) throws(DescribedError) {
    // Most texts have no tags, and a look for a pattern takes far longer than this one.
    guard text.contains("{{") else { return }
    // The look for circles knows these delimiters only.
    guard !text.contains(/\{\{\s*=/) else { throw DescribedError("\(name): delimiters cannot be changed") }
    var depth = 0
    for match in text.matches(of: /\{\{\s*([#^$\/])/) {
      depth += match.output.1 == "/" ? -1 : 1
      guard depth <= deepest else { throw DescribedError("\(name): more than \(deepest) sections in each other") }
    }
  }

  private static func parsed(_ text: String, of name: String) throws(DescribedError) -> MustacheTemplate {
    do { return try MustacheTemplate(string: text) } catch let error as MustacheTemplate.ParserError {
      let place = "line \(error.context.lineNumber), column \(error.context.columnNumber)"
      let defect = (error.error as? MustacheTemplate.Error).map { "\($0)" } ?? "a tag without an end"
      throw DescribedError("\(name), \(place): \(defect)")
    } catch { throw DescribedError("\(name): \(error)") }
  }

  /// Refuses templates that include each other so that a page would never be done, or take too much room: in a circle, in a long chain,
  /// or very often. What a value names could be any template.
  private static func refuseCircles(_ files: [String: String], _ texts: [String: String]) throws(DescribedError) {
    var all = texts
    for (name, text) in files { all[String(name.dropLast(".mustache".count))] = text }
    var parts: [String: [String]] = [:]
    for (name, text) in all where text.contains("{{") {
      parts[name] = text.matches(of: /\{\{\s*[>\<]\s*([^\s}]+)\s*\}\}/).map { String($0.output.1) }
      guard !text.contains(/\{\{\s*[>\<]\s*\*/) else {
        throw DescribedError("\(name): a template cannot be named by a value")
      }
    }
    for name in all.keys.sorted() {
      var found = 0
      try count(name, parts, &found, within: [])
    }
  }

  /// Counts the templates that a template is made of, and those that they are made of.
  private static func count(
    _ name: String, _ parts: [String: [String]], _ count: inout Int, within outer: [String]
  ) throws(DescribedError) {
    guard !outer.contains(name) else { throw DescribedError("\(name): it includes itself") }
    guard outer.count < longestChain else {
      throw DescribedError("\(outer.first ?? name): more than \(longestChain) templates in each other")
    }
    count += 1
    guard count <= mostParts else { throw DescribedError("\(name): more than \(mostParts) templates in one page") }
    for part in parts[name] ?? [] { try PageLibrary.count(part, parts, &count, within: outer + [name]) }
  }

  private static let longestChain = 10
  private static let mostParts = 1000

  /// The deepest nesting of sections: each level takes room on the stack.
  private static let deepest = 50

  static func texts(_ json: String, of name: String) throws(DescribedError) -> [String: String] {
    guard let texts = try? JSONDecoder().decode([String: String].self, from: Data(json.utf8)) else {
      throw DescribedError("\(name): not a JSON object of texts")
    }
    if let key = texts.keys.sorted().first(where: { !$0.contains(".") }) {
      throw DescribedError("\(name): the key \(key) has no dot")
    }
    return texts
  }

  private static func files(in folder: String) throws(DescribedError) -> [String: String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw DescribedError("\(folder): not a folder that can be read")
    }
    var files: [String: String] = [:]
    for name in names where [".mustache", ".json", ".css", ".js", ".svg"].contains(where: name.hasSuffix) {
      guard let data = FileManager.default.contents(atPath: folder + "/" + name),
        let text = String(data: data, encoding: .utf8)
      else { throw DescribedError("\(name): not a text that can be read") }
      files[name] = text
    }
    return files
  }
}
#endif
