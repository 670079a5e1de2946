// The entry point for libFuzzer; see scripts/dev fuzz.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
  Everything.read(Array(UnsafeBufferPointer(start: start, count: count)))
  return 0
}
