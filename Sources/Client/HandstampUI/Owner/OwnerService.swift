public import Handstamp

/// The functions that are the account owner's alone: of a `SessionManager`, or of a stand-in for previews and tests.
@MainActor public protocol OwnerService: AnyObject {
  /// How the owner can prove to be that; empty for a guest.
  func proofs() async throws(SessionError) -> Set<Proof.Kind>
  /// Mails a code for ``Proof/mailedCode(_:)``.
  func mailProof() async throws(SessionError)
  func changePassword(to new: String, endingOthers: Bool, proof: Proof?) async throws(SessionError)
  @discardableResult func deleteAccount(proof: Proof?) async throws(SessionError) -> SignOutReport
}

extension SessionManager: OwnerService {}
