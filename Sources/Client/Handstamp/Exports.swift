public import HandstampCore
@_exported public import HandstampModel
@_exported public import HandstampVaults

/// A ``/HandstampCore/Vault``, for the signatures of an app that imports `Handstamp` alone.
public typealias Vault = HandstampCore.Vault
/// A ``/HandstampCore/SessionClock``, for the signatures of an app that imports `Handstamp` alone.
public typealias SessionClock = HandstampCore.SessionClock
