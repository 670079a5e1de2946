#if Server
@_exported public import HandstampHTTP
#endif
