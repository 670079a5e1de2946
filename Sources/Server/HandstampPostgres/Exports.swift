#if PostgreSQL
@_exported public import HandstampStorage
#endif
