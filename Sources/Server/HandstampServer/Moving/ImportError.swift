#if Server
import HandstampRegistry

/// A reason for which one record of an import was not taken. The account of a refused record is not changed.
public struct ImportError: Error, Sendable, Hashable {
  public enum Code: String, Sendable, Hashable, CaseIterable {
    case invalidJSON = "invalid_json"
    case invalidCSV = "invalid_csv"
    case tooLong = "too_long"
    case truncated
    case noAccounts = "no_accounts"
    case invalidField = "invalid_field"
    case invalidID = "invalid_id"
    case noAddress = "no_address"
    case invalidAddress = "invalid_address"
    case hashUnknown = "hash_unknown"
    case hashTooCostly = "hash_too_costly"
    case hashNeedsLibcrypt = "hash_needs_libcrypt"
    case hashIncomplete = "hash_incomplete"
    case noPerson = "no_person"
    case idTaken = "id_taken"
    case idOfClient = "id_of_client"
    case addressTaken = "address_taken"
    case identityTaken = "identity_taken"
    case passkeyTaken = "passkey_taken"
    case accountDeleted = "account_deleted"
  }

  public let code: Code
  /// The field that it is about; `nil` if it is about none.
  public let field: String?

  init(_ code: Code, field: String? = nil) {
    self.code = code
    self.field = field
  }

  init(_ refusal: Arrival.Refusal) {
    let code: Code =
      switch refusal {
      case .idTaken: .idTaken
      case .addressTaken: .addressTaken
      case .identityTaken: .identityTaken
      case .passkeyTaken: .passkeyTaken
      case .accountDeleted: .accountDeleted
      }
    self.init(code)
  }

  /// The next step. It has no data of the record.
  public var hint: String {
    switch code {
    case .invalidJSON: "write one JSON object per line, nested at most 16 deep, without repeated names"
    case .invalidCSV:
      "write RFC 4180, with a header of different names, as many fields as it has, and quotes around fields with quotes"
    case .tooLong: "a record has at most \(ImportRecords.longest >> 10) KiB; look for a quote that is not closed"
    case .truncated: "the file ends inside a record: export it again"
    case .noAccounts: "check the format that --from names"
    case .invalidField: "correct the field \(field ?? "")"
    case .invalidID: "an ID has 1 to 255 printable ASCII characters without spaces"
    case .noAddress: "people sign in with an email address here: add one, or an identity"
    case .invalidAddress: "correct the address, as in ada@example.org"
    case .hashUnknown: "the owner sets a new password by mail: remove the hash from the record"
    case .hashTooCostly: "each sign-in would cost too much: remove the hash; its owner sets a new password by mail"
    case .hashNeedsLibcrypt: "install libcrypt1 (Debian) or libxcrypt (Fedora) on this machine"
    case .hashIncomplete: "name the file with the parameters of the hashes, or remove the hash from the record"
    case .noPerson: "for a program, use: handstamp-server admin clients add"
    case .idTaken: "an account with another address has this ID: remove the ID, and a new one is drawn"
    case .idOfClient: "a client without users has this ID as its own: remove the ID, and a new one is drawn"
    case .addressTaken: "another account has this address, in some spelling: --merge joins them if both are confirmed"
    case .identityTaken: "another account signs in with this identity: remove one of them"
    case .passkeyTaken: "another account has one of these passkeys: remove it from the record"
    case .accountDeleted: "the account was deleted here, and its ID is not used again"
    }
  }
}
#endif
