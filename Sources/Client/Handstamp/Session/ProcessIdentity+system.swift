import Foundation
package import HandstampCore
import HandstampSupport

extension ProcessIdentity {
  /// This process.
  package static let current: ProcessIdentity = {
    let id = ProcessInfo.processInfo.processIdentifier
    return ProcessIdentity(id: id, startedAt: ProcessTimes.start(of: id), namespace: ProcessTimes.namespace)
  }()

  /// Whether the process has ended: its ID is free, or another process has it. `false` if that cannot be seen from here; a
  /// suspended process has not ended.
  package var hasEnded: Bool { isVisible(to: .current) && ProcessTimes.start(of: id) != startedAt }
}
