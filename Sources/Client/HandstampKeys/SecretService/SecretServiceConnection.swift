import CHandstampLibraries
import HandstampCore
import HandstampSupport

/// libsecret, once found.
// Unchecked: a table that is filled once, before it is shared.
struct SecretLibrary: @unchecked Sendable {
  let functions: UnsafePointer<HSLibrary>

  init() throws(VaultError) {
    guard let found = handstamp_secret_library() else {
      throw .unavailable("libsecret is not installed")
    }
    functions = found
  }
}

/// The calls to the secret store. They block, so make them on a thread of their own.
final class SecretServiceConnection {
  private let library: UnsafePointer<HSLibrary>
  private let service: OpaquePointer
  private let cancellable: OpaquePointer?

  init(_ library: SecretLibrary, _ cancellable: OpaquePointer?) throws(VaultError) {
    let library = library.functions
    self.library = library
    self.cancellable = cancellable
    try attempt(library) { error in
      // 2: the session bus. By GIO's default, losing it would end the process.
      guard let bus = library.pointee.g_bus_get_sync(2, cancellable, error) else { return false }
      library.pointee.g_dbus_connection_set_exit_on_close(bus, 0)
      library.pointee.g_object_unref(bus)
      return true
    }
    var found: OpaquePointer?
    try attempt(library) { error in
      // 1 << 1: with a session, which is needed to read secrets.
      found = library.pointee.secret_service_get_sync(1 << 1, cancellable, error)
      return found != nil
    }
    guard let found else { throw .unavailable("the secret store does not answer") }
    service = found
  }

  deinit { library.pointee.g_object_unref(UnsafeMutableRawPointer(service)) }

  /// Passes the items with exactly this name to `body`.
  ///
  /// - Throws: ``VaultError/locked`` if a search by name finds any locked item. The other attributes of a locked item
  ///   are hidden, so it may be the one.
  func withItems<Answer>(
    named name: String, _ body: ([OpaquePointer]) throws(VaultError) -> Answer
  ) throws(VaultError) -> Answer {
    let attributes = attributes(name)
    defer { library.pointee.g_hash_table_unref(attributes) }
    var list: UnsafeMutablePointer<HSList>?
    try attempt(library) { error in
      // 1 << 1: all of them, without unlocking, so that the user is not asked for a password.
      list = library.pointee.secret_service_search_sync(
        service, handstamp_secret_schema, attributes, 1 << 1, cancellable, error)
      return error?.pointee == nil
    }
    defer { library.pointee.g_list_free_full(list, library.pointee.g_object_unref_function) }
    var exact: [OpaquePointer] = []
    var next = list
    while let link = next {
      next = link.pointee.next
      guard let item = link.pointee.data.map({ OpaquePointer($0) }) else { continue }
      if library.pointee.secret_item_get_locked(item) != 0 { throw .locked }
      if isExact(item, name) { exact.append(item) }
    }
    return try body(exact)
  }

  /// Whether an item has only our attribute and the schema's name: searches also find items with additional attributes.
  private func isExact(_ item: OpaquePointer, _ name: String) -> Bool {
    guard let table = library.pointee.secret_item_get_attributes(item) else { return false }
    defer { library.pointee.g_hash_table_unref(table) }
    let schema = library.pointee.g_hash_table_lookup(table, "xdg:schema")
    guard let found = library.pointee.g_hash_table_lookup(table, handstamp_secret_attribute) else { return false }
    return String(cString: found.assumingMemoryBound(to: CChar.self)) == name
      && library.pointee.g_hash_table_size(table) == (schema == nil ? 1 : 2)
  }

  func secret(of item: OpaquePointer) throws(VaultError) -> Secret {
    try attempt(library) { library.pointee.secret_item_load_secret_sync(item, cancellable, $0) != 0 }
    guard let value = library.pointee.secret_item_get_secret(item) else { throw .locked }
    defer { library.pointee.secret_value_unref(value) }
    var count = 0
    guard let text = library.pointee.secret_value_get(value, &count) else {
      throw .wrongKey("the key in the secret store is empty")
    }
    let secret = text.withMemoryRebound(to: UInt8.self, capacity: count) {
      KeyText.bytes(UnsafeBufferPointer(start: $0, count: count))
    }
    guard let secret else { throw .wrongKey("the item in the secret store is not a handstamp key") }
    return secret
  }

  func store(_ key: Secret, named name: String) throws(VaultError) {
    let attributes = attributes(name)
    defer { library.pointee.g_hash_table_unref(attributes) }
    var text = key.withExposedBytes { KeyText.text($0) }
    defer { for index in text.indices { text[index] = 0 } }
    // As text, because some stores can only show and copy text.
    guard let value = library.pointee.secret_value_new(text, text.count, "text/plain") else {
      throw .unavailable("the secret store cannot hold the key")
    }
    defer { library.pointee.secret_value_unref(value) }
    try attempt(library) {
      library.pointee.secret_service_store_sync(
        service, handstamp_secret_schema, attributes, "default", "Key of the vault \(name)", value, cancellable, $0)
        != 0
    }
  }

  func remove(_ item: OpaquePointer) throws(VaultError) {
    try attempt(library) { library.pointee.secret_item_delete_sync(item, cancellable, $0) != 0 }
  }

  /// Whether the default collection is locked; `nil` if there is none.
  func isLocked() throws(VaultError) -> Bool? {
    guard let collection = try defaultCollection() else { return nil }
    defer { library.pointee.g_object_unref(UnsafeMutableRawPointer(collection)) }
    return library.pointee.secret_collection_get_locked(collection) != 0
  }

  func setLocked(_ isLocked: Bool) throws(VaultError) {
    guard let collection = try defaultCollection() else {
      throw .unavailable("the secret store has no default collection")
    }
    defer { library.pointee.g_object_unref(UnsafeMutableRawPointer(collection)) }
    if (library.pointee.secret_collection_get_locked(collection) != 0) == isLocked { return }
    var objects = HSList(data: UnsafeMutableRawPointer(collection), next: nil, prev: nil)
    var changed: Int32 = 0
    try attempt(library) { error in
      changed =
        isLocked
        ? library.pointee.secret_service_lock_sync(service, &objects, cancellable, nil, error)
        : library.pointee.secret_service_unlock_sync(service, &objects, cancellable, nil, error)
      return error?.pointee == nil
    }
    // Declining the prompt is not reported as an error.
    guard changed > 0 else { throw .locked }
  }

  private func defaultCollection() throws(VaultError) -> OpaquePointer? {
    var collection: OpaquePointer?
    try attempt(library) { error in
      collection = library.pointee.secret_collection_for_alias_sync(service, "default", 0, cancellable, error)
      return error?.pointee == nil
    }
    return collection
  }

  /// The caller must release the result.
  private func attributes(_ name: String) -> OpaquePointer? {
    let call = library.pointee
    let table = call.g_hash_table_new_full(call.g_str_hash, call.g_str_equal, call.g_free, call.g_free)
    _ = call.g_hash_table_insert(table, call.g_strdup(handstamp_secret_attribute), call.g_strdup(name))
    return table
  }
}

/// Makes a call that returns success or sets an error, and throws that error.
private func attempt(
  _ library: UnsafePointer<HSLibrary>,
  _ body: (UnsafeMutablePointer<UnsafeMutablePointer<HSError>?>?) -> Bool
) throws(VaultError) {
  var error: UnsafeMutablePointer<HSError>?
  let isDone = body(&error)
  defer { library.pointee.g_clear_error(&error) }
  guard let found = error?.pointee else {
    if isDone { return }
    throw .unavailable("the secret store does not answer")
  }
  // SECRET_ERROR_IS_LOCKED and G_IO_ERROR_CANCELLED.
  if found.domain == library.pointee.secret_error_get_quark(), found.code == 2 { throw .locked }
  if found.domain == library.pointee.g_io_error_quark(), found.code == 19 {
    throw .unavailable("the secret store did not answer in time")
  }
  throw .unavailable("the secret store: " + String(cString: found.message))
}

/// A key as text, two digits per byte.
enum KeyText {
  static func text(_ bytes: some Collection<UInt8>) -> [CChar] {
    let digits = Array("0123456789abcdef".utf8)
    var text: [CChar] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      text.append(CChar(digits[Int(byte >> 4)]))
      text.append(CChar(digits[Int(byte & 15)]))
    }
    return text
  }

  /// Returns the bytes, or `nil` if the text is not valid. Ignores trailing white space, which is easily pasted along.
  static func bytes(_ text: some BidirectionalCollection<UInt8>) -> Secret? {
    var rest = text[...]
    while let last = rest.last, [9, 10, 13, 32].contains(last) { rest.removeLast() }
    guard !rest.isEmpty, var bytes = Hexadecimal.bytes(rest) else { return nil }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    return Secret(bytes: bytes)
  }
}
