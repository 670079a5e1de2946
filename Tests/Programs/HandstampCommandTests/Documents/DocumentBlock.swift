#if Programs
import Foundation

/// A block of the shell in a document.
struct DocumentBlock: Sendable {
  let document: String
  /// The first is 1.
  let number: Int
  let line: Int
  /// The commands, as the document has them.
  var commands: String
  /// The lines that they print, as the document shows them.
  let output: String

  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../..").standardizedFileURL

  /// The documents, by paths in the repository.
  static let documents: [String] = {
    var paths: [String] = []
    for folder in ["docs", "Examples", "Sources", "packaging"] {
      let found = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
      while let path = found?.nextObject() as? String {
        if path.hasSuffix(".build") { found?.skipDescendants() }
        if path.hasSuffix(".md") { paths.append(folder + "/" + path) }
      }
    }
    return ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"] + paths.sorted()
  }()

  static func text(of document: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
  }

  static func all(in document: String) throws -> [DocumentBlock] { parsing(try text(of: document), of: document) }

  static func parsing(_ text: String, of document: String = "") -> [DocumentBlock] {
    text.matches(of: #/(?ms)^( *)```(sh|console|bash|shell)\n(.*?)\n *```/#).enumerated().map { index, found in
      let indent = found.output.1.count
      let lines = found.output.3.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        String(line.dropFirst(line.prefix(indent).allSatisfy { $0 == " " } ? indent : 0))
      }
      let (commands, output) = found.output.2 == "console" ? session(lines) : (lines, [])
      return DocumentBlock(
        document: document, number: index + 1, line: text[..<found.range.lowerBound].count { $0 == "\n" } + 1,
        commands: commands.joined(separator: "\n"), output: output.joined(separator: "\n"))
    }
  }

  /// Separates the lines after a prompt from those that they print. A command goes on after a backslash, and to the end of a quotation.
  private static func session(_ lines: [String]) -> (commands: [String], output: [String]) {
    var (commands, output): ([String], [String]) = ([], [])
    var isOpen = false
    var quotes = 0
    for line in lines {
      guard isOpen || line.hasPrefix("$ ") else {
        output.append(line)
        continue
      }
      if !isOpen { quotes = 0 }
      commands.append(isOpen ? line : String(line.dropFirst(2)))
      quotes += line.count { $0 == "'" }
      isOpen = line.hasSuffix("\\") || !quotes.isMultiple(of: 2)
    }
    return (commands, output)
  }

  /// Members of JSON, fields of a stream and labels that the document shows, each of which a run must print.
  var shown: [String] {
    let members = output.matches(of: #/"\w+":/#).map { String($0.output) }
    let labels = output.matches(of: #/(?m)^([a-z][a-z ]*?)(?:  |: )/#).map { String($0.output.1) }
    return members + labels
  }

  /// The commands for a machine whose root is the folder R; a program in the shell is stored as NAME.
  var script: String {
    var text = commands
    if text.hasPrefix("#!") {
      text = "cat >\"$R/bin/$NAME\" <<'END OF FILE'\n\(text)\nEND OF FILE\nchmod +x \"$R/bin/$NAME\""
    }
    for (pattern, replacement) in DocumentBlock.replacements {
      text = text.replacingOccurrences(of: pattern, with: replacement, options: .regularExpression)
    }
    return text
  }

  /// Names of the documents, and those of the machine.
  private static let replacements: [(String, String)] = [
    (#"\.build/debug/"#, ""),
    (#"--server https://id\.example\.com"#, #"--server  http://127.0.0.1:\$PORT"#),
    (#"--(issuer|server) \S+"#, #"--$1 "\$ISSUER""#),
    // A client with a secret, another one than the public client of that ID.
    (#"--client-id ID --client-secret-file"#, "--client-id confidential --client-secret-file"),
    (#"\b8085\b"#, #"\$BACK"#),
    (#"127\.0\.0\.1:1025"#, #"127.0.0.1:\$BACK"#),
    (#"https://mcp\.example\.org/mcp"#, #"\$SERVICE/mcp"#),
    (#"https://api\.example\.org/(reports|notes)"#, #"\$SERVICE/$1"#),
    // The server's own API would ask for a nonce.
    (#"--dpop https://api\.example\.org/me\) https://api\.example\.org/me"#, #"--dpop \$SERVICE/me) \$SERVICE/me"#),
    (#"https://api\.example\.org/me"#, #"\$ISSUER/v1/me"#),
    (#"https://id\.example\.org/api/me"#, #"\$SERVICE/api/me"#),
    (#"https://id\.example\.(org|com)(/realms/main)?|http://(localhost|127\.0\.0\.1):8080"#, #"\$ISSUER"#),
    (#"(?<![\w.$}/:-])/(var/lib|etc/(?!ssl)|backup|run)"#, #"\$R/$1"#),
    (#"(?<![\w/.])clients\.json"#, #"\$R/etc/handstamp/clients.json"#),
    (#"\$\(command -v handstamp-server\)"#, #"\$REAL/handstamp-server"#),
    (#"\bSESSION\b"#, #"\$(session)"#),
    (#"\bBACKUP\b"#, #"\$R/backup/2026-11-26T0330"#),
    (#"(?<=--data )DIR"#, "./data"),
    (#"203\.0\.113\.7"#, "127.0.0.1"),
    (#"\$(ACCESS|REFRESH)\b"#, #"\$(last $1_TOKEN)"#),
    (#"\$DEVICE_CODE\b"#, #"\$(last DEVICE_CODE)"#),
  ]
}
#endif
