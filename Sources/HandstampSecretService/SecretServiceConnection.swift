#if SecretService
  import CSecret
  import HandstampCore

  /// The calls to the secret store. They block, and belong on a thread of their own.
  final class SecretServiceConnection {
    private let service: UnsafeMutablePointer<SecretService>
    private let cancellable: UnsafeMutablePointer<GCancellable>?

    init(_ cancellable: UnsafeMutablePointer<GCancellable>?) throws(VaultTrouble) {
      self.cancellable = cancellable
      try call { handstamp_open_bus(cancellable, $0) != 0 }
      var found: UnsafeMutablePointer<SecretService>?
      try call {
        found = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION, cancellable, $0)
        return found != nil
      }
      guard let found else { throw .unavailable("the secret store does not answer") }
      service = found
    }

    deinit { g_object_unref(service) }

    /// Hands out the items that have this name and nothing else.
    ///
    /// - Throws: ``VaultTrouble/locked`` when any item is that a search by name finds. What a locked one is called in full
    ///   cannot be seen: it may be the one.
    func withItems<Answer>(
      named name: String, _ body: ([UnsafeMutablePointer<SecretItem>]) throws(VaultTrouble) -> Answer
    ) throws(VaultTrouble) -> Answer {
      let attributes = handstamp_attributes(name)
      defer { g_hash_table_unref(attributes) }
      var list: UnsafeMutablePointer<GList>?
      try call { error in
        // Not unlocked, so that nobody is asked for a password.
        list = secret_service_search_sync(
          service, handstamp_schema(), attributes, SECRET_SEARCH_ALL, cancellable, error)
        return error?.pointee == nil
      }
      defer { handstamp_unref_all(list) }
      var exact: [UnsafeMutablePointer<SecretItem>] = []
      var next = list
      while let link = next {
        next = link.pointee.next
        guard let item = link.pointee.data?.assumingMemoryBound(to: SecretItem.self) else { continue }
        if secret_item_get_locked(item) != 0 { throw .locked }
        if handstamp_is_exact(item, name) != 0 { exact.append(item) }
      }
      return try body(exact)
    }

    func secret(of item: UnsafeMutablePointer<SecretItem>) throws(VaultTrouble) -> Secret {
      try call { secret_item_load_secret_sync(item, cancellable, $0) != 0 }
      guard let value = secret_item_get_secret(item) else { throw .locked }
      defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
      var count: gsize = 0
      guard let text = secret_value_get(value, &count) else {
        throw .unavailable("the key in the secret store is empty")
      }
      let bytes = text.withMemoryRebound(to: UInt8.self, capacity: Int(count)) {
        Hexadecimal.bytes(UnsafeBufferPointer(start: $0, count: Int(count)))
      }
      guard let bytes else { throw .unavailable("the key in the secret store is none of ours") }
      return bytes
    }

    func store(_ key: Secret, named name: String) throws(VaultTrouble) {
      let attributes = handstamp_attributes(name)
      defer { g_hash_table_unref(attributes) }
      var text = key.withExposedBytes { Hexadecimal.text($0) }
      defer { for index in text.indices { text[index] = 0 } }
      // As text, because some stores show and copy nothing else.
      guard let value = secret_value_new(text, gssize(text.count), "text/plain") else {
        throw .unavailable("the secret store takes no key")
      }
      defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
      try call {
        secret_service_store_sync(
          service, handstamp_schema(), attributes, "default", "Key of the vault \(name)", value, cancellable, $0) != 0
      }
    }

    func remove(_ item: UnsafeMutablePointer<SecretItem>) throws(VaultTrouble) {
      try call { secret_item_delete_sync(item, cancellable, $0) != 0 }
    }

    /// To be unreferenced.
    func defaultCollection() throws(VaultTrouble) -> UnsafeMutablePointer<SecretCollection>? {
      var collection: UnsafeMutablePointer<SecretCollection>?
      try call { error in
        collection = secret_collection_for_alias_sync(
          service, "default", SECRET_COLLECTION_NONE, cancellable, error)
        return error?.pointee == nil
      }
      return collection
    }

    func setLocked(_ isLocked: Bool) throws(VaultTrouble) {
      guard let collection = try defaultCollection() else {
        throw .unavailable("the secret store has no default collection")
      }
      defer { g_object_unref(collection) }
      if (secret_collection_get_locked(collection) != 0) == isLocked { return }
      var objects = GList(data: UnsafeMutableRawPointer(collection), next: nil, prev: nil)
      var changed: gint = 0
      try call { error in
        changed =
          isLocked
          ? secret_service_lock_sync(service, &objects, cancellable, nil, error)
          : secret_service_unlock_sync(service, &objects, cancellable, nil, error)
        return error?.pointee == nil
      }
      // A prompt that was declined is no error.
      guard changed > 0 else { throw .locked }
    }
  }

  /// Makes a call that says whether it went well, and why it did not.
  private func call(
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>?) -> Bool
  ) throws(VaultTrouble) {
    var error: UnsafeMutablePointer<GError>?
    let isDone = body(&error)
    defer { g_clear_error(&error) }
    guard let error else {
      if isDone { return }
      throw .unavailable("the secret store does not answer")
    }
    if handstamp_is_locked_error(error) != 0 { throw .locked }
    if handstamp_is_cancelled_error(error) != 0 { throw .unavailable("the secret store did not answer in time") }
    throw .unavailable("the secret store: " + String(cString: error.pointee.message))
  }
#endif
