package import HandstampCore
import HandstampSupport

/// The location of the key for a folder of vaults: the file beside them, or a store named by a note in the folder. For
/// programs that let their users choose.
///
/// A program reads the ``note()`` to learn where the key is; it never tries one place after another.
package struct VaultKeyPlace: Sendable {
  package static let noteName = "vault.key-store"

  /// The note beside the vaults. Its lines are the place of the key, then `to` with the place that a move is about to fill, then
  /// `left` with each place that may still have a copy.
  package struct Note: Sendable, Hashable {
    /// The place beside the vaults. Without a note, the key is, or will be, there.
    package static let file = "file"

    package var place = Note.file
    package var target: String?
    package var leftovers: [String] = []

    /// The places that may have a copy of the key that is not used.
    package var copies: [String] { (target.map { [$0] } ?? []) + leftovers }
  }

  /// The steps of a move. The key is in its new place from ``committed`` on.
  package enum Step: String, Sendable, CaseIterable {
    case locked, announced, stored, committed, removed
  }

  package let folder: String
  private let store: @Sendable (String) -> (any VaultKeyCopy)?
  #if Exploration
  /// Called at every step of a move; tests look around there, or end it.
  package var reached: @Sendable (Step) async throws(VaultError) -> Void = { _ in }
  #else
  private func reached(_ step: Step) async throws(VaultError) {}
  #endif

  /// - Parameters:
  ///   - folder: The absolute path of the vaults' folder.
  ///   - store: Returns the store that a note names. ``Note/file`` is never asked for.
  package init(folder: String, store: @escaping @Sendable (String) -> (any VaultKeyCopy)? = { _ in nil }) {
    self.folder = folder
    self.store = store
  }

  package func note() throws(VaultError) -> Note {
    guard let folder = try VaultFolder(folder).open() else { return Note() }
    return try VaultKeyPlace.note(in: folder)
  }

  /// Moves the key to the place `name`, which the note then names, and removes every other copy that the note knows of. A kill
  /// at any instant leaves a key that opens the vaults, in the place that the note names; repeating the call completes the move.
  /// Makes a key if there is none and no vault needs one.
  ///
  /// - Parameters:
  ///   - name: One line.
  ///   - given: The store, if it is not the one that the name stands for.
  ///   - onlyNew: Whether to refuse if there is a key, or a vault that needs one.
  /// - Returns: Why a copy remains in an earlier place, which the note then names; `nil` if none remains.
  /// - Throws: The errors of the stores; ``VaultError/unavailable(_:)`` if the key has been moved in the meantime. The key
  ///   is then where the note says.
  @concurrent package func move(
    to name: String, in given: (any VaultKeyCopy)? = nil, onlyNew: Bool = false
  ) async throws(VaultError) -> VaultError? {
    let before = try self.note()
    let folder = try VaultFolder(folder).openOrMake()
    let old = try copy(before.place, in: folder)
    let new: any VaultKeyCopy =
      if before.place == name { old } else if let given { given } else { try copy(name, in: folder) }
    // Any prompt must appear before the lock is taken, so that no other process waits for it.
    _ = try await old.load()
    _ = try await new.content()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    try await reached(.locked)
    var note = try VaultKeyPlace.note(in: folder)
    guard note.place == before.place else { throw .unavailable("another process has just moved the key") }
    if note.place != name { try await carry(from: old, to: new, name, &note, onlyNew: onlyNew, under: lock) }
    return await clear(note, keeping: new, under: lock)
  }

  private func carry(
    from old: any VaultKeyCopy, to new: any VaultKeyCopy, _ name: String, _ note: inout Note, onlyNew: Bool,
    under lock: borrowing VaultsLock
  ) async throws(VaultError) {
    let key: Secret?
    switch try await old.content() {
    case .absent:
      if try VaultFiles.needKey(lock.folder.names()) { throw VaultKey.missing }
      key = nil
    case .key(let found): key = found
    case .closed: throw .locked
    }
    guard !onlyNew || key == nil else { throw .unavailable("there is a key already") }
    switch try await new.content() {
    case .absent: break
    case .key(let other): guard key == nil || other == key else { throw .wrongKey("the new place holds another key") }
    // Left by an interrupted move, perhaps with another passphrase.
    case .closed: try await VaultKeyPlace.remove(new, keeping: old, under: lock)
    }
    note.leftovers = note.copies.filter { $0 != name }
    note.target = name
    try VaultKeyPlace.write(note, in: lock.folder)
    try await reached(.announced)
    do throws(VaultError) {
      if let key {
        if case .absent = try await new.content() { try await new.store(key) }
      } else {
        try await ManagedVaultKey(in: new).make()
      }
      guard case .key(let stored) = try await new.content(), key == nil || key == stored else {
        throw .wrongKey("the key store does not return the key that was stored")
      }
    } catch {
      if (try? await VaultKeyPlace.remove(new, keeping: old, under: lock)) != nil {
        note.target = nil
        try? VaultKeyPlace.write(note, in: lock.folder)
      }
      throw error
    }
    try await reached(.stored)
    note = Note(place: name, leftovers: note.leftovers + (key == nil ? [] : [note.place]))
    try VaultKeyPlace.write(note, in: lock.folder)
    try await reached(.committed)
  }

  /// Removes the copies that `note` names beside the key. Returns why one remains.
  private func clear(
    _ note: Note, keeping staying: any VaultKeyCopy, under lock: borrowing VaultsLock
  ) async -> VaultError? {
    guard !note.copies.isEmpty else { return nil }
    var left = Note(place: note.place)
    var trouble: VaultError?
    for name in note.copies where name != note.place && !left.leftovers.contains(name) {
      do throws(VaultError) {
        try await VaultKeyPlace.remove(copy(name, in: lock.folder), keeping: staying, under: lock)
      } catch {
        trouble = trouble ?? error
        left.leftovers.append(name)
      }
    }
    do throws(VaultError) {
      try await reached(.removed)
      try VaultKeyPlace.write(left, in: lock.folder)
    } catch {
      trouble = trouble ?? error
    }
    return trouble
  }

  private func copy(_ name: String, in folder: PosixFile) throws(VaultError) -> any VaultKeyCopy {
    if name == Note.file { return KeyBesideVaults(folder) }
    guard let copy = store(name) else {
      throw .unavailable("the key is kept in a place unknown to this version: \(name)")
    }
    return copy
  }

  /// Makes the key file beside the vaults if there is no key yet. Returns whether it was made.
  ///
  /// - Throws: ``VaultError/wrongKey(_:)`` if the key is missing and a vault needs it, or stored elsewhere.
  @concurrent package func makeFile() async throws(VaultError) -> Bool {
    let folder = try VaultFolder(folder).openOrMake()
    let lock = try await VaultFolder.lock(in: folder, within: .seconds(10))
    defer { lock.unlock() }
    if try VaultKeyFile(beside: folder).load() != nil { return false }
    _ = try VaultKey.fileInVaultFolder.settle(for: folder, isNeeded: VaultFiles.needKey(folder.names()))
    return true
  }

  /// Removes the key file that remained beside its sealed copy when a process died that sealed it. It stays if the note names it as
  /// the place of the key, or as the target of a move.
  static func removeFile(besideSealed sealed: any VaultKeyCopy, under lock: borrowing VaultsLock)
    async throws(VaultError)
  {
    var note = try VaultKeyPlace.note(in: lock.folder)
    // A program without a choice leaves no note.
    guard note == Note() || note.place != Note.file && note.target != Note.file else { return }
    let file = KeyBesideVaults(lock.folder)
    guard case .key(let key) = try await file.content(), case .key(let kept) = try await sealed.content(), key == kept
    else { return }
    try await remove(file, keeping: sealed, under: lock)
    guard note.leftovers.contains(Note.file) else { return }
    note.leftovers.removeAll { $0 == Note.file }
    try write(note, in: lock.folder)
  }
}

/// The note, line by line.
extension VaultKeyPlace {
  private static let limit = 1000

  static func note(in folder: PosixFile) throws(VaultError) -> Note {
    guard let file = try folder.open(noteName, flags: O_RDONLY) else { return Note() }
    guard try file.status().isRegular else { throw .unavailable("there is something else in place of \(noteName)") }
    let bytes = try file.readAll(limit: limit + 1)
    guard bytes.last == 10, let text = String(utf8Bytes: bytes.dropLast()), !text.isEmpty, let note = Note(text) else {
      throw .wrongKey("\(noteName) is damaged")
    }
    return note
  }

  /// Replaces the note, or removes it if it says nothing.
  private static func write(_ note: Note, in folder: PosixFile) throws(VaultError) {
    if note == Note() {
      try folder.remove(noteName)
    } else {
      let bytes = Array(note.text.utf8) + [10]
      guard Note(note.text) == note, bytes.count <= limit else {
        throw .unavailable("the place of the key cannot be noted: \(note.place)")
      }
      // A fixed partial name: it is created only under the lock.
      try folder.replace(noteName, with: bytes, partial: noteName + VaultFiles.partialEnding, content: noteName)
    }
    try folder.sync(attempt: "syncing the vault's folder")
  }
}

extension VaultKeyPlace.Note {
  private static let (to, left) = ("to ", "left ")

  fileprivate var text: String {
    ([place] + (target.map { [Self.to + $0] } ?? []) + leftovers.map { Self.left + $0 }).joined(separator: "\n")
  }

  fileprivate init?(_ text: String) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    place = String(lines.removeFirst())
    if let line = lines.first, line.hasPrefix(Self.to) {
      target = String(line.dropFirst(Self.to.count))
      lines.removeFirst()
    }
    for line in lines {
      guard line.hasPrefix(Self.left) else { return nil }
      leftovers.append(String(line.dropFirst(Self.left.count)))
    }
    guard ([place] + copies).allSatisfy({ !$0.isEmpty }) else { return nil }
  }
}
