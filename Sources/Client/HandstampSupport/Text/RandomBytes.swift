/// Returns bytes from the system's cryptographic random source.
package func randomBytes(_ count: Int) -> [UInt8] {
  var system = SystemRandomNumberGenerator()
  return randomBytes(count, from: &system)
}

/// Returns bytes from a random source, drawn eight at a time, the most significant byte first.
package func randomBytes(_ count: Int, from random: inout some RandomNumberGenerator) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + 7)
  while bytes.count < count {
    let number: UInt64 = random.next()
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
  bytes.removeLast(bytes.count - count)
  return bytes
}
