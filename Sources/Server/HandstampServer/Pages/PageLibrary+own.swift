#if Server
import Foundation

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
