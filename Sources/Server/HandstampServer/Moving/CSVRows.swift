#if Server
import HandstampSupport

/// The rows of CSV with a header (RFC 4180). A field without quotes that is empty is missing, as PostgreSQL writes `NULL`.
struct CSVRows: RecordScanner {
  private enum Place {
    case start
    case plain
    case quoted
    /// After a quote inside quotes: its end, or half of an escaped one.
    case quote
  }

  private var header: [String]?
  private var (line, start) = (0, 0)
  private var place = Place.start
  private var field: [UInt8] = []
  private var fields: [String?] = []
  private var (size, isBroken) = (0, false)

  init(line: Int) { (self.line, start) = (line, line) }

  mutating func add(_ byte: UInt8) -> ImportRecords.Record? {
    if byte == 10 { line += 1 }
    size += 1
    switch (place, byte) {
    case (.quoted, UInt8(ascii: "\"")): place = .quote
    case (.quoted, _): append(byte)
    case (.quote, UInt8(ascii: "\"")):
      append(byte)
      place = .quoted
    case (_, UInt8(ascii: ",")): endField()
    case (_, 10): return endRow()
    case (.start, UInt8(ascii: "\"")): place = .quoted
    // The carriage return before a newline.
    case (_, 13): break
    case (.start, _), (.plain, _):
      append(byte)
      place = .plain
      if byte == UInt8(ascii: "\"") { isBroken = true }
    case (.quote, _): isBroken = true
    }
    return nil
  }

  private mutating func append(_ byte: UInt8) { if size <= ImportRecords.longest { field.append(byte) } }

  private mutating func endField() {
    let isMissing = field.isEmpty && place == .start
    let text = String(utf8Bytes: field)
    if text == nil { isBroken = true }
    if fields.count < 1024 { fields.append(isMissing ? nil : text) } else { isBroken = true }
    (field, place) = ([], .start)
  }

  private mutating func endRow() -> ImportRecords.Record? {
    let isEmpty = fields.isEmpty && field.isEmpty && place == .start
    if !isEmpty { endField() }
    defer { (fields, size, isBroken, start, place) = ([], 0, false, line, .start) }
    if isEmpty { return nil }
    if size > ImportRecords.longest { return .refused(.tooLong, line: start) }
    guard let header else {
      let names = fields.compactMap(\.self)
      let isUnclear = isBroken || Set(names).count < names.count
      // Of a column that cannot be told from another, no row is read.
      header = isUnclear ? [] : fields.map { $0 ?? "" }
      return isUnclear ? .refused(.invalidCSV, line: start) : nil
    }
    guard !isBroken, fields.count == header.count else { return .refused(.invalidCSV, line: start) }
    let members = zip(header, fields).compactMap { name, field in field.map { (name, JSONValue.string($0)) } }
    return ImportRecords.Record(line: start, content: .success(Dictionary(members, uniquingKeysWith: { $1 })))
  }

  /// A row without its newline may have lost the end of its last field.
  func end() -> ImportRecords.Record? { size > 0 ? .refused(.truncated, line: start) : nil }
}
#endif
