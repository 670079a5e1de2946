@_exported public import HandstampModel
@_exported public import HandstampVaults
