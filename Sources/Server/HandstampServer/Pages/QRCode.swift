#if Server
/// A QR code (ISO/IEC 18004) of bytes, with medium error correction: up to version 20, which is 666 bytes.
struct QRCode {
  /// Modules on each side.
  private(set) var size: Int
  /// The dark modules, row by row.
  private(set) var isDark: [[Bool]]
  /// Those that are no data: patterns, format and version.
  private var isFixed: [[Bool]]
  private var version: Int

  /// By version, from 1: the error correction codewords of each block, and the number of blocks (table 9, level M).
  private static let correction = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26]
  private static let blocks = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16]

  /// Returns `nil` for more bytes than fit.
  init?(_ bytes: [UInt8]) {
    guard
      let version = (1...QRCode.blocks.count).first(where: {
        bytes.count <= QRCode.capacity($0) - ($0 < 10 ? 2 : 3)
      })
    else { return nil }
    (self.version, size) = (version, 17 + 4 * version)
    isDark = Array(repeating: Array(repeating: false, count: size), count: size)
    isFixed = isDark
    drawPatterns()
    drawFormat(mask: 0)
    place(QRCode.corrected(QRCode.codewords(bytes, version), version))
    let plain = self
    var best = Int.max
    for mask in 0..<8 {
      let candidate = plain.masked(mask)
      let penalty = candidate.penalty
      if penalty < best { (best, self) = (penalty, candidate) }
    }
  }

  // MARK: Data

  /// All codewords of a version.
  private static func total(_ version: Int) -> Int {
    let alignments = version < 2 ? 0 : version / 7 + 2
    let aligning = alignments == 0 ? 0 : (25 * alignments - 10) * alignments - 55
    return ((16 * version + 128) * version + 64 - aligning - (version < 7 ? 0 : 36)) / 8
  }

  /// The codewords for data.
  private static func capacity(_ version: Int) -> Int { total(version) - correction[version - 1] * blocks[version - 1] }

  private static func codewords(_ bytes: [UInt8], _ version: Int) -> [UInt8] {
    var bits: [Bool] = []
    func add(_ value: Int, _ count: Int) { bits += (0..<count).map { value >> (count - 1 - $0) & 1 == 1 } }
    // The mode of bytes.
    add(4, 4)
    add(bytes.count, version < 10 ? 8 : 16)
    for byte in bytes { add(Int(byte), 8) }
    add(0, 4)
    var words = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<min(start + 8, bits.count)].enumerated().reduce(UInt8(0)) {
        $0 | ($1.element ? 128 >> $1.offset : 0)
      }
    }
    let capacity = capacity(version)
    words = Array(words.prefix(capacity))
    let filled = words.count
    return words + (filled..<max(filled, capacity)).map { ($0 - filled) % 2 == 0 ? 0xEC : 0x11 }
  }

  /// Adds the error correction of each block (Reed-Solomon), and interleaves the blocks.
  private static func corrected(_ data: [UInt8], _ version: Int) -> [UInt8] {
    let (count, length) = (blocks[version - 1], correction[version - 1])
    let (short, longer) = (total(version) / count - length, total(version) % count)
    let divisor = generator(length)
    var (start, parts, checks) = (0, [[UInt8]](), [[UInt8]]())
    for block in 0..<count {
      let size = short + (block < count - longer ? 0 : 1)
      let part = Array(data[start..<start + size])
      start += size
      parts.append(part)
      checks.append(
        part.reduce(into: [UInt8](repeating: 0, count: length)) { rest, byte in
          let factor = byte ^ rest.removeFirst()
          rest.append(0)
          for index in rest.indices { rest[index] ^= product(divisor[index], factor) }
        })
    }
    func interleaved(_ lists: [[UInt8]]) -> [UInt8] {
      (0..<(lists.map(\.count).max() ?? 0)).flatMap { index in lists.compactMap { index < $0.count ? $0[index] : nil } }
    }
    return interleaved(parts) + interleaved(checks)
  }

  private static func generator(_ degree: Int) -> [UInt8] {
    var (coefficients, root) = ([UInt8](repeating: 0, count: degree - 1) + [1], UInt8(1))
    for _ in 0..<degree {
      for index in coefficients.indices {
        let next = index + 1 < degree ? coefficients[index + 1] : 0
        coefficients[index] = product(coefficients[index], root) ^ next
      }
      root = product(root, 2)
    }
    return coefficients
  }

  /// In the field of 256 elements of the polynomial 0x11D.
  private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    (0..<8).reversed().reduce(UInt8(0)) { result, bit in
      (result << 1) ^ (result >> 7 == 1 ? 0x1D : 0) ^ (right >> UInt8(bit) & 1 == 1 ? left : 0)
    }
  }

  // MARK: Drawing

  private mutating func fix(_ x: Int, _ y: Int, _ dark: Bool) {
    guard (0..<size).contains(x), (0..<size).contains(y) else { return }
    (isDark[y][x], isFixed[y][x]) = (dark, true)
  }

  private mutating func drawPatterns() {
    for index in 0..<size {
      fix(6, index, index % 2 == 0)
      fix(index, 6, index % 2 == 0)
    }
    for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] {
      for dx in -4...4 { for dy in -4...4 { fix(x + dx, y + dy, ![2, 4].contains(max(abs(dx), abs(dy)))) } }
    }
    let places = alignments
    for x in places {
      for y in places {
        // The corners have finders.
        guard !(x < 10 && y < 10), !(x < 10 && y > size - 10), !(x > size - 10 && y < 10) else { continue }
        for dx in -2...2 { for dy in -2...2 { fix(x + dx, y + dy, max(abs(dx), abs(dy)) != 1) } }
      }
    }
    guard version >= 7 else { return }
    let bits = version << 12 | (0..<12).reduce(version) { rest, _ in rest << 1 ^ (rest >> 11) * 0x1F25 }
    for index in 0..<18 {
      let (far, near, dark) = (size - 11 + index % 3, index / 3, bits >> index & 1 == 1)
      fix(far, near, dark)
      fix(near, far, dark)
    }
  }

  private var alignments: [Int] {
    guard version > 1 else { return [] }
    let count = version / 7 + 2
    let step = (version * 8 + count * 3 + 5) / (count * 4 - 4) * 2
    return [6] + (0..<count - 1).map { size - 7 - $0 * step }
  }

  /// The level M, and the mask.
  private mutating func drawFormat(mask: Int) {
    let bits = (mask << 10 | (0..<10).reduce(mask) { rest, _ in rest << 1 ^ (rest >> 9) * 0x537 }) ^ 0x5412
    for index in 0..<15 {
      let dark = bits >> index & 1 == 1
      switch index {
      case 0..<6: fix(8, index, dark)
      case 6, 7: fix(8, index + 1, dark)
      case 8: fix(7, 8, dark)
      default: fix(14 - index, 8, dark)
      }
      if index < 8 { fix(size - 1 - index, 8, dark) } else { fix(8, size - 15 + index, dark) }
    }
    fix(8, size - 8, true)
  }

  /// Places the codewords in columns of two, from the right, upwards and downwards in turn.
  private mutating func place(_ words: [UInt8]) {
    var bit = 0
    for right in stride(from: size - 1, through: 1, by: -2) {
      // The column of the timing pattern has no data.
      let right = right <= 6 ? right - 1 : right
      for step in 0..<size {
        for x in [right, right - 1] {
          let y = (right + 1) & 2 == 0 ? size - 1 - step : step
          guard !isFixed[y][x], bit < words.count * 8 else { continue }
          isDark[y][x] = words[bit / 8] >> UInt8(7 - bit % 8) & 1 == 1
          bit += 1
        }
      }
    }
  }

  private func masked(_ mask: Int) -> QRCode {
    var code = self
    for y in 0..<size {
      for x in 0..<size where !isFixed[y][x] {
        let inverts =
          switch mask {
          case 0: (x + y) % 2 == 0
          case 1: y % 2 == 0
          case 2: x % 3 == 0
          case 3: (x + y) % 3 == 0
          case 4: (x / 3 + y / 2) % 2 == 0
          case 5: x * y % 2 + x * y % 3 == 0
          case 6: (x * y % 2 + x * y % 3) % 2 == 0
          default: ((x + y) % 2 + x * y % 3) % 2 == 0
          }
        if inverts { code.isDark[y][x].toggle() }
      }
    }
    code.drawFormat(mask: mask)
    return code
  }

  /// How hard it is to read: long runs, and areas of one color (section 7.8.3, the first two rules).
  private var penalty: Int {
    var sum = 0
    for line in 0..<size {
      for values in [isDark[line], (0..<size).map { isDark[$0][line] }] {
        var (run, last) = (0, Bool?.none)
        for value in values {
          run = value == last ? run + 1 : 1
          last = value
          if run == 5 { sum += 3 } else if run > 5 { sum += 1 }
        }
      }
    }
    for y in 1..<size {
      for x in 1..<size {
        let here = isDark[y][x]
        if here == isDark[y][x - 1], here == isDark[y - 1][x], here == isDark[y - 1][x - 1] { sum += 3 }
      }
    }
    return sum
  }

  // MARK: SVG

  /// The code with its quiet zone of four modules, dark on white whatever the colors of the page are. The page names it.
  var svg: String {
    var path = ""
    for (y, row) in isDark.enumerated() {
      for (x, dark) in row.enumerated() where dark { path += "M\(x + 4) \(y + 4)h1v1h-1z" }
    }
    let side = size + 8
    return """
      <svg class="qr" viewBox="0 0 \(side) \(side)" aria-hidden="true" shape-rendering="crispEdges">\
      <rect width="\(side)" height="\(side)" fill="#fff"/><path d="\(path)" fill="#000"/></svg>
      """
  }
}
#endif
