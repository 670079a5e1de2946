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
    var content: Result<[String: JSONValue], ImportError>
  }

  private let format: ImportFormat
  /// `nil` before the first character, which chooses it.
  private var scanner: (any RecordScanner)?
  private var (line, hasRecords) = (1, false)

  init(_ format: ImportFormat) { self.format = format }

  /// Returns the records that end in `bytes`, which follow the previous ones.
  mutating func add(_ bytes: some Sequence<UInt8>) -> [Record] {
    var found: [Record] = []
    for byte in bytes {
      if scanner == nil { scanner = begin(with: byte) }
      if let record = scanner?.add(byte) { found.append(record) }
    }
    hasRecords = hasRecords || !found.isEmpty
    return found
  }

  /// Returns the records that only the end of the file has ended.
  mutating func end() -> [Record] {
    if let record = scanner?.end() { return [record] }
    return hasRecords ? [] : [.refused(.noAccounts, line: 1)]
  }

  private mutating func begin(with byte: UInt8) -> (any RecordScanner)? {
    switch byte {
    case 10:
      line += 1
      return nil
    // Spaces, and the byte order mark.
    case 9, 13, 32, 0xEF, 0xBB, 0xBF: return nil
    case UInt8(ascii: "["): return JSONObjects(in: nil, line: line)
    case UInt8(ascii: "{") where format.container != nil: return JSONObjects(in: format.container, line: line)
    case UInt8(ascii: "{"): return JSONLines(line: line)
    default: return format.hasTables ? CSVRows(line: line) : JSONLines(line: line)
    }
  }
}

extension ImportRecords.Record {
  static func refused(_ code: ImportError.Code, line: Int) -> ImportRecords.Record {
    ImportRecords.Record(line: line, content: .failure(ImportError(code)))
  }

  /// - Parameter bytes: an object; of one that is too long, one byte more than that.
  init(_ bytes: [UInt8], line: Int) {
    if bytes.count > ImportRecords.longest {
      self = .refused(.tooLong, line: line)
    } else if case .object(let members)? = JSONValue(bytes) {
      self.init(line: line, content: .success(members))
    } else {
      self = .refused(.invalidJSON, line: line)
    }
  }
}

/// Cuts one kind of file.
protocol RecordScanner {
  /// Returns the record that ends with this byte, or is refused for it.
  mutating func add(_ byte: UInt8) -> ImportRecords.Record?
  /// Returns the record that only the end of the file ends.
  mutating func end() -> ImportRecords.Record?
}

/// A JSON object in each line.
struct JSONLines: RecordScanner {
  private var line: Int
  private var held: [UInt8] = []

  init(line: Int) { self.line = line }

  mutating func add(_ byte: UInt8) -> ImportRecords.Record? {
    guard byte == 10 else {
      if held.count <= ImportRecords.longest { held.append(byte) }
      return nil
    }
    defer { (held, line) = ([], line + 1) }
    return end()
  }

  func end() -> ImportRecords.Record? {
    let isEmpty = held.allSatisfy { $0 == 32 || $0 == 9 || $0 == 13 } && held.count <= ImportRecords.longest
    return isEmpty ? nil : ImportRecords.Record(held, line: line)
  }
}

/// The objects of a JSON array, or of the array in one member of a JSON object. Knows strings and brackets alone: each object is read
/// when it is whole.
struct JSONObjects: RecordScanner {
  private let container: String?
  private var line: Int
  private var (start, depth, inString, isEscaped) = (0, 0, false, false)
  /// The last string of the outer object: the name of the member that a bracket begins.
  private var name: [UInt8] = []
  /// The depth of the array's objects; `nil` outside the array.
  private var level: Int?
  private var held: [UInt8]?
  private var isStray = false

  init(in container: String?, line: Int) {
    self.container = container
    self.line = line
  }

  mutating func add(_ byte: UInt8) -> ImportRecords.Record? {
    if byte == 10 { line += 1 }
    if let count = held?.count, count <= ImportRecords.longest { held?.append(byte) }
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
    (held, start, isStray) = ([byte], line, false)
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
    return ImportRecords.Record(bytes, line: start)
  }

  /// A character that belongs to no object of the array: once for those in a row.
  private mutating func stray() -> ImportRecords.Record? {
    guard held == nil, !isStray, depth == 0 || depth == level else { return nil }
    isStray = true
    return .refused(.invalidJSON, line: line)
  }

  func end() -> ImportRecords.Record? {
    depth > 0 || inString ? .refused(.truncated, line: held == nil ? line : start) : nil
  }
}
#endif
