#if Server
import HandstampSupport

/// Cuts an export into records, as its bytes arrive: JSON lines, the objects of a JSON array or of one member of a JSON object, or the
/// rows of CSV. Holds one record at a time, so that the size of the file does not matter.
struct ImportRecords {
  /// The most bytes of a record.
  static let longest = 1 << 20

  /// A record with the line that it begins in, the first being 1.
  struct Record {
    var line: Int
    var content: Result<[String: JSONValue], ImportRefusal>
  }

  private enum Shape {
    case undecided
    case lines
    case objects(JSONObjects)
    case table(CSVRows)
  }

  private let format: ImportFormat
  private var shape = Shape.undecided
  private var line = 1
  private var (held, isTooLong, hasRecords) = ([UInt8](), false, false)
  private var found: [Record] = []

  init(_ format: ImportFormat) { self.format = format }

  /// Returns the records that end in `bytes`, which follow the former ones.
  mutating func add(_ bytes: some Sequence<UInt8>) -> [Record] {
    for byte in bytes { add(byte) }
    return taken()
  }

  /// Returns the records that only the end of the file has ended.
  mutating func end() -> [Record] {
    switch shape {
    case .undecided: break
    case .lines: endLine()
    case .objects(let objects):
      if let record = objects.end() { found.append(record) }
    case .table(let rows):
      if let record = rows.end() { found.append(record) }
    }
    if found.isEmpty && !hasRecords { found.append(Record(line: 1, content: .failure(ImportRefusal(.noAccounts)))) }
    return taken()
  }

  private mutating func taken() -> [Record] {
    defer { found = [] }
    hasRecords = hasRecords || !found.isEmpty
    return found
  }

  private mutating func add(_ byte: UInt8) {
    switch shape {
    case .undecided: decide(byte)
    case .lines:
      if byte == 10 {
        endLine()
        line += 1
      } else if held.count < ImportRecords.longest {
        held.append(byte)
      } else {
        isTooLong = true
      }
    case .objects(var objects):
      // Moved out and back, so that its buffer is not copied.
      shape = .undecided
      if let record = objects.add(byte) { found.append(record) }
      shape = .objects(objects)
    case .table(var rows):
      shape = .undecided
      if let record = rows.add(byte) { found.append(record) }
      shape = .table(rows)
    }
  }

  /// Chooses the shape by the first character.
  private mutating func decide(_ byte: UInt8) {
    switch byte {
    case 10: line += 1
    // Spaces, and the byte order mark.
    case 9, 13, 32, 0xEF, 0xBB, 0xBF: break
    case UInt8(ascii: "["): start(.objects(JSONObjects(in: nil, line: line)), byte)
    case UInt8(ascii: "{"):
      start(format.container.map { .objects(JSONObjects(in: $0, line: line)) } ?? .lines, byte)
    default: start(format.hasTables ? .table(CSVRows(line: line)) : .lines, byte)
    }
  }

  private mutating func start(_ new: Shape, _ byte: UInt8) {
    shape = new
    add(byte)
  }

  private mutating func endLine() {
    defer { (held, isTooLong) = ([], false) }
    if isTooLong { return found.append(Record(line: line, content: .failure(ImportRefusal(.tooLong)))) }
    guard held.contains(where: { $0 != 32 && $0 != 9 && $0 != 13 }) else { return }
    found.append(Record(line: line, content: Record.content(held)))
  }
}

extension ImportRecords.Record {
  static func content(_ bytes: [UInt8]) -> Result<[String: JSONValue], ImportRefusal> {
    guard case .object(let members)? = JSONValue(bytes) else { return .failure(ImportRefusal(.invalidJSON)) }
    return .success(members)
  }
}

/// The objects of a JSON array, or of the array in one member of a JSON object. Knows strings and brackets alone: each object is read
/// when it is whole.
struct JSONObjects {
  private let container: String?
  private var line: Int
  private var (start, depth, inString, isEscaped) = (0, 0, false, false)
  /// The last string of the outer object: the name of the member that a bracket begins.
  private var name: [UInt8] = []
  /// The depth of the array's objects; `nil` outside the array.
  private var level: Int?
  private var held: [UInt8]?
  private var (isTooLong, isStray) = (false, false)

  init(in container: String?, line: Int) {
    self.container = container
    self.line = line
  }

  mutating func add(_ byte: UInt8) -> ImportRecords.Record? {
    if byte == 10 { line += 1 }
    if held != nil {
      if (held?.count ?? 0) < ImportRecords.longest { held?.append(byte) } else { isTooLong = true }
    }
    if inString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        inString = false
      }
      if inString, depth == 1, name.count < 64 { name.append(byte) }
      return nil
    }
    switch byte {
    case UInt8(ascii: "\""):
      inString = true
      if depth == 1 { name = [] }
      return stray()
    case UInt8(ascii: "["), UInt8(ascii: "{"): return open(byte)
    case UInt8(ascii: "]"), UInt8(ascii: "}"): return close()
    case 9, 10, 13, 32, UInt8(ascii: ","), UInt8(ascii: ":"): return nil
    default: return stray()
    }
  }

  private mutating func open(_ byte: UInt8) -> ImportRecords.Record? {
    defer { depth += 1 }
    if level == nil {
      guard byte == UInt8(ascii: "[") else { return nil }
      if container == nil, depth == 0 { level = 1 }
      if let container, depth == 1, name.elementsEqual(container.utf8) { level = 2 }
      return nil
    }
    guard depth == level else { return nil }
    guard byte == UInt8(ascii: "{") else { return stray() }
    (held, start, isTooLong, isStray) = ([byte], line, false, false)
    return nil
  }

  private mutating func close() -> ImportRecords.Record? {
    guard depth > 0 else { return stray() }
    depth -= 1
    guard let level else { return nil }
    if depth < level {
      self.level = nil
      isStray = false
    }
    guard depth == level, let bytes = held else { return nil }
    held = nil
    let refusal = ImportRefusal(.tooLong)
    return ImportRecords.Record(
      line: start, content: isTooLong ? .failure(refusal) : ImportRecords.Record.content(bytes))
  }

  /// A character that belongs to no object of the array: once for those in a row.
  private mutating func stray() -> ImportRecords.Record? {
    guard held == nil, !isStray, depth == 0 || depth == level else { return nil }
    isStray = true
    return ImportRecords.Record(line: line, content: .failure(ImportRefusal(.invalidJSON)))
  }

  func end() -> ImportRecords.Record? {
    guard depth > 0 || inString else { return nil }
    return ImportRecords.Record(line: held == nil ? line : start, content: .failure(ImportRefusal(.truncated)))
  }
}
#endif
