#if PostgreSQL
import CHandstampLibraries
import HandstampRegistry

/// libpq, found at run time.
enum Libpq {
  static let library: HSPostgres? = handstamp_libpq()?.pointee

  /// - Throws: what to install if it was not found.
  static func required() throws(RegistryOpenError) -> HSPostgres {
    guard let library else {
      throw .refused(
        "PostgreSQL needs libpq 14 or later, and it was not found",
        hint: "install it: apt-get install libpq5, or brew install libpq")
    }
    return library
  }
}

/// Fields of an error (PG_DIAG_…).
enum ErrorField {
  static let severity = Int32(UInt8(ascii: "V"))
  static let state = Int32(UInt8(ascii: "C"))
  static let message = Int32(UInt8(ascii: "M"))
}

/// The types of parameters (pg_type.oid).
enum TypeID {
  static let bytes: UInt32 = 17
  static let integer: UInt32 = 20
  static let text: UInt32 = 25
  static let byteArrays: UInt32 = 1001
}
#endif
