#if Server
import HandstampCore
import HandstampSupport

/// The fields of one record. Numbers and booleans may be text, as in CSV; `null` and missing fields are alike.
struct ImportFields {
  private let members: [String: JSONValue]

  init(_ members: [String: JSONValue]) { self.members = members }

  /// An object, or JSON text of one; without members if there is none.
  init(_ value: JSONValue?) {
    switch value {
    case .object(let members)?: self.init(members)
    case .string(let text)?:
      guard case .object(let members)? = JSONValue(Array(text.utf8)) else { fallthrough }
      self.init(members)
    default: self.init([:])
    }
  }

  var isEmpty: Bool { members.isEmpty }

  subscript(name: String) -> JSONValue? {
    guard let value = members[name], value != .null else { return nil }
    return value
  }

  func object(_ name: String) -> ImportFields { ImportFields(self[name]) }

  /// The objects of a list; none if there is no list.
  func objects(_ name: String) -> [ImportFields] { self[name]?.array?.map { ImportFields($0) } ?? [] }

  /// The objects of a list, which CSV has as JSON text; none if there is nothing.
  func list(_ name: String) throws(ImportError) -> [ImportFields] {
    guard case .string(let text)? = self[name], !text.isEmpty else { return objects(name) }
    guard let list = JSONValue(Array(text.utf8))?.array else { throw ImportError(.invalidField, field: name) }
    return list.map { ImportFields($0) }
  }

  /// The first of these fields that there is and that is not empty, as `read` reads it.
  ///
  /// - Parameter member: the name of the member that has the value, if the field is an object.
  private func first<Value>(
    of names: [String], in member: String? = nil, _ read: (JSONValue) -> Value?
  ) throws(ImportError) -> Value? {
    for name in names {
      guard let value = member.flatMap({ object(name)[$0] }) ?? self[name], value != .string("") else { continue }
      guard let read = read(value) else { throw ImportError(.invalidField, field: name) }
      return read
    }
    return nil
  }

  func text(_ names: String...) throws(ImportError) -> String? { try first(of: names, \.scalar) }

  /// A text that is a hash already.
  func secret(_ names: String...) throws(ImportError) -> Secret? {
    try first(of: names) { $0.scalar.map { Secret($0) } }
  }

  /// Texts; other members of the list are left out.
  func texts(_ name: String) -> [String] { self[name]?.array?.compactMap(\.string) ?? [] }

  func flag(_ names: String...) throws(ImportError) -> Bool? {
    try first(of: names) { value in
      switch value {
      case .bool(let flag): flag
      case .string("t"), .string("true"), .string("1"), .integer(1): true
      case .string("f"), .string("false"), .string("0"), .integer(0): false
      default: nil
      }
    }
  }

  func integer(_ name: String) throws(ImportError) -> Int64? { try first(of: [name], \.wholeNumber) }

  /// The years 1 to 9999, which RFC 3339 can name.
  private static let times = UnixTime(seconds: -62_135_596_800)...UnixTime(seconds: 253_402_300_799)

  /// A number is in seconds, or in milliseconds if it is of another age otherwise.
  func time(_ names: String...) throws(ImportError) -> UnixTime? {
    // The member is that of MongoDB's extended JSON.
    try first(of: names, in: "$date") { value in
      var time = value.string.flatMap { UnixTime(moment: $0) }
      if let number = value.wholeNumber {
        time = number.magnitude < 100_000_000_000 ? UnixTime(seconds: number) : UnixTime(milliseconds: number)
      }
      guard let time, ImportFields.times.contains(time) else { return nil }
      // Some programs write the year 1 for a time that they do not know. Passkeys, identities and authenticator apps are kept for a
      // century from when they were made, and would be over.
      return max(time, UnixTime(seconds: 0))
    }
  }

  /// Base64 of either alphabet, with or without padding.
  func bytes(_ name: String) throws(ImportError) -> [UInt8]? {
    try first(of: [name]) { $0.scalar.flatMap(ImportFields.bytes) }
  }

  static func bytes(_ text: String) -> [UInt8]? {
    Base64URL.decode(
      text.utf8.filter { $0 != UInt8(ascii: "=") && $0 != 10 && $0 != 13 }.map { byte in
        byte == UInt8(ascii: "+") ? UInt8(ascii: "-") : byte == UInt8(ascii: "/") ? UInt8(ascii: "_") : byte
      })
  }
}

extension JSONValue {
  /// A text, or a number as one.
  fileprivate var scalar: String? {
    if case .integer(let number) = self { String(number) } else { string }
  }
  fileprivate var wholeNumber: Int64? { integer ?? string.flatMap { Int64($0) } }
}

extension UnixTime {
  /// Reads RFC 3339, and what databases write: a space for the `T`, an offset without minutes or none at all, which is UTC.
  init?(moment text: String) {
    var rest = Array(text.utf8)[...]
    func digits(_ count: Int) -> Int64? {
      guard rest.count >= count, rest.prefix(count).allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reduce(0) { $0 * 10 + Int64($1 & 15) }
    }
    func take(_ accepted: String) -> UInt8? {
      guard let byte = rest.first, accepted.utf8.contains(byte) else { return nil }
      rest = rest.dropFirst()
      return byte
    }
    guard let year = digits(4), take("-") != nil, let month = digits(2), take("-") != nil, let day = digits(2),
      let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    var (second, fraction, offset): (Int64, Int64, Int64) = (0, 0, 0)
    if !rest.isEmpty {
      guard take("Tt ") != nil, let hour = digits(2), hour < 24, take(":") != nil, let minute = digits(2), minute < 60
      else { return nil }
      second = hour * 3600 + minute * 60
      if take(":") != nil {
        guard let seconds = digits(2), seconds <= 60 else { return nil }
        second += seconds
      }
      if take(".,") != nil {
        guard rest.first.map({ (0x30...0x39).contains($0) }) == true else { return nil }
        var unit: Int64 = 100
        while let digit = digits(1) { (fraction, unit) = (fraction + digit * unit, unit / 10) }
      }
      _ = take(" ")
      if let sign = take("+-") {
        guard let hours = digits(2), hours < 24 else { return nil }
        _ = take(":")
        offset = (hours * 3600 + (digits(2) ?? 0) * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
      } else if take("Zz") == nil, rest.elementsEqual("UTC".utf8) {
        rest = []
      }
    }
    guard rest.isEmpty else { return nil }
    self.init(milliseconds: (date.daysSince1970 * 86_400 + second - offset) * 1000 + fraction)
  }
}
#endif
