package import Handstamp
import HandstampSupport

/// A keychain in memory that behaves as Apple documents for `SecItem`: item keys, access groups, accessibility,
/// statuses. Where Apple documents nothing, the test decides.
///
/// Several instances can share one ``Device``, as the programs on it.
package final class EmulatedKeychain: Keychain {
  /// The device, with the items of all programs.
  package final class Device: Sendable {
    let state = Locked(State())

    package init() {}

    /// Locks or unlocks the device.
    package func set(_ lock: Lock) { state.withLock { $0.lock = lock } }

    /// Removes the passcode: items that require one are deleted, and none can be added.
    package func removePasscode() {
      state.withLock { state in
        state.hasPasscode = false
        state.items.removeAll { $0.accessibility == .whenPasscodeSetThisDeviceOnly }
      }
    }

    /// Sets the user's answer to questions: success, a refusal, or an unknown face.
    package func answer(_ status: KeychainStatus) { state.withLock { $0.person = status } }

    /// The reasons shown to the user, in order.
    package var reasons: [String] { state.withLock { $0.reasons } }

    /// Enrols another face or finger: items bound to the current biometry are invalidated and deleted.
    package func enrol() {
      state.withLock { state in
        let useless = state.access.filter { $0.value == .biometryCurrentSet }.keys
        state.items.removeAll { useless.contains($0.key) }
      }
    }

    /// Reports "not found" instead of "interaction not allowed" for unreadable items before the first unlock.
    package func hideBeforeFirstUnlock() { state.withLock { $0.hides = true } }

    /// All items of all programs.
    package var items: [KeychainItem] { state.withLock { $0.items } }

    /// Edits the stored items directly.
    package func change(_ body: @Sendable (inout [KeychainItem]) -> Void) { state.withLock { body(&$0.items) } }

    /// Calls `answer` before every call. A status that it returns is the result, and the call has no effect.
    package func intercept(_ answer: (@Sendable (Call) -> KeychainStatus?)?) { state.withLock { $0.answer = answer } }

    /// All calls so far.
    package var calls: [Call] { state.withLock { $0.calls } }
  }

  package enum Lock: Sendable { case beforeFirstUnlock, locked, unlocked }

  package enum Call: Sendable, Hashable {
    case add(KeychainItem)
    case copy(KeychainKey)
    case update(KeychainKey, KeychainChange)
    case delete(KeychainKey)
  }

  struct State {
    var lock = Lock.unlocked
    var hasPasscode = true
    var hides = false
    var items: [KeychainItem] = []
    var calls: [Call] = []
    var answer: (@Sendable (Call) -> KeychainStatus?)?
    /// The items that require presence.
    var access: [KeychainKey: KeychainAccess] = [:]
    var person = KeychainStatus.success
    var reasons: [String] = []

    func canRead(_ accessibility: KeychainAccessibility?) -> Bool {
      switch accessibility {
      case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly: lock != .beforeFirstUnlock
      case .whenUnlocked, .whenUnlockedThisDeviceOnly: lock == .unlocked
      case .whenPasscodeSetThisDeviceOnly: lock == .unlocked && hasPasscode
      case nil: true
      }
    }

    var refusal: KeychainStatus { hides && lock == .beforeFirstUnlock ? .itemNotFound : .interactionNotAllowed }

    mutating func intercepted(_ call: Call) -> KeychainStatus? {
      calls.append(call)
      return answer?(call)
    }
  }

  private let device: Device
  private let groups: [String]

  /// - Parameter groups: The access groups that the program is signed for; the first is its default.
  package init(_ device: Device = Device(), groups: [String] = ["team.app"]) {
    self.device = device
    self.groups = groups
  }

  package func add(_ item: KeychainItem) -> KeychainStatus {
    device.state.withLock { [groups] state in
      if let status = state.intercepted(.add(item)) { return status }
      guard let group = item.group ?? groups.first, groups.contains(group) else { return .missingEntitlement }
      if item.accessibility == .whenPasscodeSetThisDeviceOnly, !state.hasPasscode { return .notAvailable }
      guard state.canRead(item.accessibility) else { return .interactionNotAllowed }
      guard !state.items.contains(where: { $0.key == item.key && $0.group == group }) else { return .duplicateItem }
      var new = item
      new.group = group
      state.items.append(new)
      return .success
    }
  }

  package func copy(_ key: KeychainKey, group: String?) -> (status: KeychainStatus, items: [KeychainItem]) {
    device.state.withLock { [groups] state in
      if let status = state.intercepted(.copy(key)) { return (status, []) }
      if let group, !groups.contains(group) { return (.missingEntitlement, []) }
      let found = state.items.filter { EmulatedKeychain.matches($0, key, group, groups) }
      if found.isEmpty { return (.itemNotFound, []) }
      guard found.allSatisfy({ state.canRead($0.accessibility) }) else { return (state.refusal, []) }
      return (.success, found)
    }
  }

  package func update(_ key: KeychainKey, group: String?, with change: KeychainChange) -> KeychainStatus {
    device.state.withLock { [groups] state in
      if let status = state.intercepted(.update(key, change)) { return status }
      if let group, !groups.contains(group) { return .missingEntitlement }
      let found = state.items.indices.filter { EmulatedKeychain.matches(state.items[$0], key, group, groups) }
      if found.isEmpty { return .itemNotFound }
      guard found.allSatisfy({ state.canRead(state.items[$0].accessibility) }) else { return state.refusal }
      if let wanted = change.accessibility, !state.canRead(wanted) { return .interactionNotAllowed }
      for index in found {
        var new = state.items[index]
        if let account = change.account {
          new.key.account = account
          let isTaken = state.items.contains { $0.key == new.key && $0.group == new.group }
          if isTaken { return .duplicateItem }
        }
        new.data = change.data ?? new.data
        new.accessibility = change.accessibility ?? new.accessibility
        state.items[index] = new
      }
      return .success
    }
  }

  package func delete(_ key: KeychainKey, group: String?) -> KeychainStatus {
    device.state.withLock { [groups] state in
      if let status = state.intercepted(.delete(key)) { return status }
      if let group, !groups.contains(group) { return .missingEntitlement }
      let count = state.items.count
      state.items.removeAll { EmulatedKeychain.matches($0, key, group, groups) }
      return state.items.count == count ? .itemNotFound : .success
    }
  }

  private static func matches(_ item: KeychainItem, _ key: KeychainKey, _ group: String?, _ groups: [String]) -> Bool {
    guard item.key == key, let own = item.group else { return false }
    return group.map { $0 == own } ?? groups.contains(own)
  }
}

extension EmulatedKeychain: ProtectedKeychain {
  package func add(_ item: KeychainItem, access: KeychainAccess) -> KeychainStatus {
    let status = add(item)
    if status == .success { device.state.withLock { $0.access[item.key] = access } }
    return status
  }

  package func copy(_ key: KeychainKey, asking reason: String) -> (status: KeychainStatus, data: [UInt8]?) {
    let (status, items) = copy(key, group: nil)
    guard status == .success else { return (status, nil) }
    let answer = device.state.withLock { state in
      state.reasons.append(reason)
      return state.person
    }
    return (answer, answer == .success ? items.first?.data : nil)
  }

  package func find(_ key: KeychainKey) -> KeychainStatus {
    let status = copy(key, group: nil).status
    return status == .success ? .interactionNotAllowed : status
  }
}
