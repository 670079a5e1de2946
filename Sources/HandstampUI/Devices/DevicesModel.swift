public import Handstamp
import HandstampCore
public import Observation

/// What ``DevicesView`` shows and does: the account's devices, live, and ending one or all others.
@MainActor @Observable
public final class DevicesModel {
  /// This device first, then those seen last.
  public private(set) var devices: [DeviceSession] = []
  /// Whether the list has been loaded once.
  public private(set) var isLoaded = false
  /// Why the list could not be loaded, or a device not be ended. What was known is still shown.
  public private(set) var failure: Wording?
  /// Devices that are being ended.
  public private(set) var ending: Set<SessionID> = []
  public private(set) var isEndingOthers = false

  @ObservationIgnored private let service: any DevicesService
  /// Which load is the last that began: an older answer never covers a newer one.
  @ObservationIgnored private var loads: UInt64 = 0
  @ObservationIgnored private var shown: UInt64 = 0

  public init(_ service: any DevicesService) { self.service = service }

  public var others: [DeviceSession] { devices.filter { !$0.isCurrent } }
  public var canEndOthers: Bool { !others.isEmpty && !isEndingOthers }

  /// Loads the list, and again whenever it changes, for as long as its task lives: the view's.
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

  /// Whether there is a button to end this device's session here: one's own is ended by signing out.
  public func canEnd(_ device: DeviceSession) -> Bool { !device.isCurrent && !ending.contains(device.id) }

  public func end(_ device: DeviceSession) async {
    guard canEnd(device) else { return }
    ending.insert(device.id)
    defer { ending.remove(device.id) }
    do throws(SessionError) {
      try await service.end(device.id)
      await load()
    } catch {
      failure = Wording(error) ?? failure
    }
  }

  public func endOthers() async {
    guard canEndOthers else { return }
    isEndingOthers = true
    defer { isEndingOthers = false }
    do throws(SessionError) {
      try await service.endOthers()
      await load()
    } catch {
      failure = Wording(error) ?? failure
    }
  }
}
