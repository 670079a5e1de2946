#if JOSE
/// One data item of CBOR (RFC 8949), of the kinds that WebAuthn needs.
///
/// Read as strictly as CTAP2's canonical form asks (CTAP 2.1 section 8), so that no bytes have two readings: lengths are definite
/// and every number has its shortest form; tags, floating-point numbers, `undefined` and repeated keys are refused. One rule is
/// left out: the order of the keys of a map. Chrome on Android puts `authData` first in attestation objects.
enum CBORValue: Sendable, Hashable {
  /// Major types 0 and 1. Numbers that do not fit are refused.
  case integer(Int64)
  /// Not copied: a slice of what was read.
  case bytes(ArraySlice<UInt8>)
  case text(String)
  case array([CBORValue])
  /// The keys are integers and texts.
  case map([CBORValue: CBORValue])
  case bool(Bool)
  case null

  /// Reads all of `bytes`.
  ///
  /// - Throws: ``CBORError/trailingBytes`` if there is more than one item, and the errors of ``CBORReader/value()``.
  init(_ bytes: ArraySlice<UInt8>) throws(CBORError) {
    var reader = CBORReader(bytes)
    self = try reader.value()
    guard reader.rest.isEmpty else { throw .trailingBytes }
  }

  /// The value of that text key; `nil` if there is none, or this is no map.
  subscript(key: String) -> CBORValue? { map?[.text(key)] }

  /// The value of that integer key; `nil` if there is none, or this is no map.
  subscript(label: Int64) -> CBORValue? { map?[.integer(label)] }

  var map: [CBORValue: CBORValue]? { if case .map(let members) = self { members } else { nil } }
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
  var bytes: ArraySlice<UInt8>? { if case .bytes(let bytes) = self { bytes } else { nil } }
  var text: String? { if case .text(let text) = self { text } else { nil } }
}
#endif
