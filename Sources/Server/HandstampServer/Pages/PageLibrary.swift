#if Server
import CHandstampFiles
import Foundation
import HandstampRegistry
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
    /// Those of the texts that have no tags.
    var plain: [String: String] = [:]
  }

  /// Those with an operator's files; `nil` for those of this package alone.
  private let replaced: [String: Language]?
  private var byCode: [String: Language] { replaced ?? PageLibrary.own }
  /// The codes of the languages, such as `de`, English first.
  package let languages: [String]
  /// The style sheet and the script.
  package let style: String
  package let script: String
  /// The symbol of the service, in SVG, unless the operator has another one.
  package let icon: String

  /// Those of this package, which every server of a process shares. Read for the first page or mail, and not at the start of a server: a
  /// test shows that they have no defect.
  private static let own = (try? languages(of: builtIn)) ?? [:]

  /// - Parameter folder: files that replace those of the same name, and further languages; `nil` for none.
  package init(folder: String? = nil) throws(DescribedError) {
    var files = PageLibrary.builtIn
    if let folder {
      let own = try PageLibrary.files(in: folder)
      files.merge(own) { $1 }
      replaced = try PageLibrary.languages(of: files, own: own)
    } else {
      replaced = nil
    }
    style = files["pages.css"] ?? ""
    script = files["pages.js"] ?? ""
    icon = files["icon.svg"] ?? ""
    let codes = files.keys.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(".json".count)) }
    languages = ["en"] + codes.filter { $0 != "en" }.sorted()
  }

  private static func languages(
    of files: [String: String], own: [String: String] = [:]
  ) throws(DescribedError) -> [String: Language] {
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
        try template(text, of: name)
      }
    }
    func texts(of name: String) -> [String: String]? {
      tried { () throws(DescribedError) in try PageLibrary.texts(files[name] ?? "{}", of: name) }
    }
    // A test refuses circles in the package's own files; a start looks only where an operator's are among them.
    let hasOwn = !own.isEmpty
    let english = texts(of: "en.json") ?? [:]
    var byCode: [String: Language] = [:]
    for name in files.keys.sorted() where name.hasSuffix(".json") {
      let code = String(name.dropLast(".json".count))
      if LanguageTag(rawValue: code) == nil { defects.append("\(name): \(code) is not a language tag, such as pt-BR") }
      guard let own = texts(of: name) else { continue }
      // A text that a language lacks is English.
      let all = english.merging(own) { $1 }
      if hasOwn { _ = tried { () throws(DescribedError) in try refuseCircles(sources, all) } }
      var (partials, plain) = (templates, [String: MustacheTemplate]())
      for (key, text) in all.sorted(by: { $0.key < $1.key }) {
        let place = "\(own[key] == nil ? "en.json" : name): \(key)"
        _ = tried { () throws(DescribedError) in
          partials[key] = try template(text, of: place)
          plain[key] = try parsed("{{% CONTENT_TYPE:TEXT}}" + text, of: place)
        }
      }
      byCode[code] = Language(
        pages: MustacheLibrary(templates: partials), texts: MustacheLibrary(templates: plain),
        plain: all.filter { !$0.value.contains("{{") })
    }
    if defects.isEmpty, !own.isEmpty { defects = silentDefects(of: own, among: files) }
    guard defects.isEmpty else { throw DescribedError(defects.joined(separator: "; ")) }
    return byCode
  }

  /// Returns a whole page.
  package func page(_ name: String, _ context: PageContext, in language: String) -> String {
    var context = context
    let pages = library(language).pages
    context["content"] = .text(pages.render(context.rendered, withTemplate: name) ?? "")
    return pages.render(context.rendered, withTemplate: "layout") ?? ""
  }

  /// Returns one template without the layout.
  package func fragment(_ name: String, _ context: PageContext, in language: String) -> String {
    library(language).pages.render(context.rendered, withTemplate: name) ?? ""
  }

  /// Returns a text without escapes, for a value of a context; `nil` if there is none with that key.
  package func text(_ key: String, _ values: @autoclosure () -> PageContext = [:], in language: String) -> String? {
    let language = library(language)
    return language.plain[key] ?? language.texts.render(values().rendered, withTemplate: key)
  }

  /// Returns the name of a language in that language; of one that the pages do not have, the code.
  func name(ofLanguage code: String) -> String {
    byCode[code] == nil ? code : text("language.name", in: code) ?? code
  }

  private func library(_ code: String) -> Language {
    // English is built in.
    byCode[code] ?? byCode["en"]
      ?? Language(pages: MustacheLibrary(templates: [:]), texts: MustacheLibrary(templates: [:]))
  }

  private static func template(_ text: String, of name: String) throws(DescribedError) -> MustacheTemplate {
    // Most texts have no tags, and a look for a pattern takes far longer than this one.
    guard text.contains("{{") else { return try parsed(text, of: name) }
    // The look for circles knows these delimiters only.
    guard !text.contains(/\{\{\s*=/) else { throw DescribedError("\(name): delimiters cannot be changed") }
    var depth = 0
    for match in text.matches(of: /\{\{\s*([#^$\/])/) {
      depth += match.output.1 == "/" ? -1 : 1
      guard depth <= deepest else { throw DescribedError("\(name): more than \(deepest) sections in each other") }
    }
    return try parsed(text, of: name)
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

extension PageLibrary {
  /// The files in the folder Templates, which Pages.c makes part of the program. A test compares its list with the folder.
  static let builtIn: [String: String] = {
    var files: [String: String] = [:]
    var next = handstamp_pages()
    while let page = next?.pointee, let name = page.name {
      files[String(cString: name)] = String(cString: page.text)
      next = next?.successor()
    }
    return files
  }()
}

/// Checks of an operator's files that can be parsed, and would fail without a word when their page is needed.
extension PageLibrary {
  private typealias Part = (place: String, name: String, text: String)
  private typealias Tag = (kind: Substring, name: Substring)
  private static let ofValues: Set<Substring> = ["", "#", "^", "&"]
  private static let ofParts: Set<Substring> = [">", "<"]
  /// The part or value without which a page cannot say what its user chose, and the words for it.
  private static let needed = [
    "sign_in": ("borrowed", "{{> borrowed}}"), "sign_up": ("borrowed", "{{> borrowed}}"),
    "confirm": ("borrowed", "{{> borrowed}}"), "recover": ("borrowed", "{{> borrowed}}"),
    "confirm_end": ("single", "field single"),
  ]

  /// - Parameters:
  ///   - own: the operator's files.
  ///   - files: these, and the built-in ones that they do not replace.
  static func silentDefects(of own: [String: String], among files: [String: String]) -> [String] {
    let standard = parts(of: builtIn)
    let all = Dictionary(parts(of: files).map { ($0.name, $0.text) }) { $0 + $1 }
    let values = Set(
      standard.flatMap { tags(in: $0.text) }.filter { ofValues.contains($0.kind) }
        .flatMap { $0.name.split(separator: ".") })
    let included = all.values.flatMap { tags(in: $0) }.filter { ofParts.contains($0.kind) }.map { String($0.name) }
    let used = Set(standard.map { $0.name } + included)
    return parts(of: own).flatMap { part -> [String] in
      var found = used.contains(part.name) ? [] : ["no page has it"]
      if let (name, words) = needed[part.name], !has({ $0.name == name }, in: part.text, all) {
        found.append("it has no \(words)")
      }
      return (found + defects(of: part.text, values, all)).map { "\(part.place): \($0)" }
    }
  }

  /// The templates and texts of files.
  private static func parts(of files: [String: String]) -> [Part] {
    files.sorted { $0.key < $1.key }.flatMap { file, text -> [Part] in
      if file.hasSuffix(".mustache") { return [(file, String(file.dropLast(9)), text)] }
      guard file.hasSuffix(".json"), let found = try? texts(text, of: file) else { return [] }
      return found.sorted { $0.key < $1.key }.map { ("\(file): \($0)", $0, $1) }
    }
  }

  private static func tags(in text: String) -> [Tag] {
    guard text.contains("{{") else { return [] }
    return text.matches(of: /\{\{(\{?)\s*([#^&>\/<$!%]?)\s*([^\s{}]+)/).map { match in
      (match.output.1.isEmpty ? match.output.2 : "&", match.output.3)
    }
  }

  /// The values that the built-in templates show as they are: forms' tokens, and the server's own markup.
  private static let unescaped = Set(
    parts(of: builtIn).flatMap { tags(in: $0.text) }.filter { $0.kind == "&" }.map { $0.name })

  private static func defects(of text: String, _ values: Set<Substring>, _ parts: [String: String]) -> [String] {
    var defects: [String] = []
    for (kind, name) in tags(in: text) {
      if ofParts.contains(kind), parts[String(name)] == nil { defects.append("there is no \(name) to include") }
      // A transform, such as `first()`, is no value.
      guard ofValues.contains(kind), !name.contains("(") else { continue }
      if !name.split(separator: ".").allSatisfy(values.contains) { defects.append("no page has a value \(name)") }
      if kind == "&", !unescaped.contains(name) { defects.append("\(name) has to be escaped") }
    }
    for rest in text.split(separator: /(?i)<form\b/, omittingEmptySubsequences: false).dropFirst() {
      let form = String(rest.prefix(upTo: rest.firstRange(of: /(?i)<\/form>/)?.lowerBound ?? rest.endIndex))
      guard form.contains(/(?i)\bmethod\s*=\s*["']?post/) else { continue }
      if has({ $0.kind == "&" && $0.name == "csrf" }, in: form, parts) { continue }
      defects.append("a form that posts has no {{{csrf}}}")
    }
    let html = text.replacing(/\{\{.*?\}\}/, with: "")
    if html.contains(/(?i)<script\b(?![^>]*\ssrc\s*=)|<style\b|<[a-z][^>]*\s(on[a-z]+|style)\s*=|javascript:/) {
      defects.append("browsers refuse its inline script or style")
    }
    return defects
  }

  /// Templates that include themselves are refused before.
  private static func has(_ isWanted: (Tag) -> Bool, in text: String, _ parts: [String: String]) -> Bool {
    tags(in: text).contains { tag in
      isWanted(tag) || ofParts.contains(tag.kind) && has(isWanted, in: parts[String(tag.name)] ?? "", parts)
    }
  }
}
#endif
