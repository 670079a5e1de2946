@_exported public import HandstampCore
@_exported public import HandstampVaults
