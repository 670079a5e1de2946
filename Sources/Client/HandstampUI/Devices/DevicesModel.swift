public import Handstamp
public import Observation

/// The model of ``DevicesView``: a live list of the account's devices, and signing out one or all others.
@MainActor @Observable
public final class DevicesModel {
  /// This device first, then the others by last activity, latest first.
  public private(set) var devices: [DeviceSession] = []
  /// Whether the list has been loaded once.
  public private(set) var isLoaded = false
  /// The reason that the list could not be loaded or a device not be signed out. The last known list is still shown.
  public private(set) var failure: Wording?
  /// The devices being signed out.
  public private(set) var ending: Set<SessionID> = []
  public private(set) var isEndingOthers = false

  /// Whether the last attempt was refused because the sign-in was too long ago: ask for the password, then call
  /// ``confirm(password:code:)``.
  public private(set) var needsPassword = false
  /// Whether the account has an authenticator app: ask for its code as well.
  public private(set) var needsCode = false

  /// The refused action, to be repeated.
  @ObservationIgnored private var refused: Action?
  private enum Action {
    case end([DeviceSession])
    case endOthers
  }

  @ObservationIgnored private let service: any DevicesService
  /// The number of loads started, so that an older response never replaces a newer one.
  @ObservationIgnored private var loads: UInt64 = 0
  @ObservationIgnored private var shown: UInt64 = 0

  public init(_ service: any DevicesService) { self.service = service }

  /// ``devices`` as the view shows them: the sign-ins in one kind of browser, or at one application, are together. A group that contains
  /// this device is not signed out as a whole: ``endOthers()`` ends its other sign-ins, with all others.
  public var groups: [[DeviceSession]] {
    var (groups, places): ([[DeviceSession]], [SessionID: Int]) = ([], [:])
    for device in devices {
      let id = device.group ?? device.id
      if let place = places[id] {
        groups[place].append(device)
      } else {
        places[id] = groups.count
        groups.append([device])
      }
    }
    return groups
  }

  public var others: [DeviceSession] { devices.filter { !$0.isCurrent } }
  public var canEndOthers: Bool { !others.isEmpty && !isEndingOthers }

  /// Loads the list now and after every change. Ends with its task, usually the view's.
  public func follow() async {
    let changes = service.changes()
    await load()
    for await _ in changes { await load() }
  }

  public func load() async {
    loads += 1
    let number = loads
    do throws(SessionError) {
      let list = try await service.devices()
      guard number > shown else { return }
      shown = number
      devices = list.filter(\.isCurrent) + list.filter { !$0.isCurrent }
      isLoaded = true
      failure = nil
    } catch {
      guard number > shown else { return }
      shown = number
      failure = Wording(error) ?? failure
    }
  }

  /// Whether to offer signing out this device. The current device is signed out with the regular sign-out instead.
  public func canEnd(_ device: DeviceSession) -> Bool { !device.isCurrent && !ending.contains(device.id) }

  public func end(_ device: DeviceSession) async { await end([device]) }

  /// Signs out all of a group, see ``groups``.
  public func end(_ group: [DeviceSession]) async {
    guard group.allSatisfy({ canEnd($0) }) else { return }
    ending.formUnion(group.map(\.id))
    defer { ending.subtract(group.map(\.id)) }
    await attempt(.end(group))
  }

  public func endOthers() async {
    guard canEndOthers else { return }
    isEndingOthers = true
    defer { isEndingOthers = false }
    await attempt(.endOthers)
  }

  /// Proves with the password that the user is the account's owner, and repeats what was refused.
  ///
  /// - Parameter code: the code of an authenticator app. One without a letter or digit counts as none, and if ``needsCode``
  ///   nothing is sent.
  public func confirm(password: String, code: String = "") async {
    guard let refused, !needsCode || code.typedCode != nil else { return }
    do throws(SessionError) {
      try await service.reauthenticate(.password(Secret(password), code: code.typedCode.map { Secret($0) }))
    } catch {
      if case .refused(code: "second_factor_required", _) = error { needsCode = true }
      failure = Wording(error) ?? failure
      return
    }
    dismissPassword()
    failure = nil
    switch refused {
    case .end(let group): await end(group)
    case .endOthers: await endOthers()
    }
  }

  /// The user does not want to enter the password.
  public func dismissPassword() {
    needsPassword = false
    refused = nil
  }

  private func attempt(_ action: Action) async {
    do throws(SessionError) {
      switch action {
      case .end(let group): try await service.end(group)
      case .endOthers: try await service.endOthers()
      }
      await load()
    } catch {
      if case .refused(code: "reauthentication_required", _) = error {
        refused = action
        needsPassword = true
      } else {
        failure = Wording(error) ?? failure
      }
    }
  }
}
