import HandstampExploration

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Plays seeded histories of client, server, user and thief, on all cores, and checks the invariants after every step.
///
///     HandstampSimulator [--seeds N] [--from N]    plays N seeds, prints those that break an invariant
///     HandstampSimulator --seed N                  plays one seed, and prints every step
///     HandstampSimulator --faults                  shows how soon each planted fault is found
///
/// Exits with 1 if an invariant was broken.
@main
struct HandstampSimulator {
  static func main() async {
    guard let order = Order(CommandLine.arguments.dropFirst()) else {
      Console.note("usage: [--seeds N] [--from N] | --seed N | --faults")
      exit(64)
    }
    switch order {
    case .one(let seed): exit(replay(seed))
    case .many(let seeds): exit(await play(seeds))
    case .faults: exit(await findFaults())
    }
  }

  static func findFaults() async -> Int32 {
    var missed = 0
    for fault in World.Fault.allCases {
      let run = (0..<10_000 as Range<UInt64>).lazy.map { Simulation(seed: $0, faults: [fault]) }
        .first { $0.violation != nil }
      if run == nil { missed += 1 }
      print("\(fault.rawValue): \(run.map { "seed \($0.seed), \($0.violation?.description ?? "")" } ?? "not found")")
    }
    return missed == 0 ? 0 : 1
  }

  static func replay(_ seed: UInt64) -> Int32 {
    let run = Simulation(seed: seed, traced: true)
    for line in run.trace { print(line) }
    print("seed \(seed), \(run.steps) steps: \(run.violation?.description ?? "every invariant holds")")
    return run.violation == nil ? 0 : 1
  }

  static func play(_ seeds: Range<UInt64>) async -> Int32 {
    let clock = ContinuousClock()
    let start = clock.now
    let score = Score(seeds: seeds)
    let workers = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<workers {
        group.addTask {
          while let chunk = await score.next() {
            var found: [Simulation] = []
            for seed in chunk {
              let run = Simulation(seed: seed)
              if run.violation != nil { found.append(run) }
            }
            await score.add(chunk.count, found, after: clock.now - start)
          }
        }
      }
    }
    Console.endProgress()
    let seconds = (clock.now - start) / .seconds(1)
    let violations = await score.violations
    for run in violations.prefix(20) { print("seed \(run.seed): \(run.violation?.description ?? "")") }
    if let first = violations.first {
      print("scripts/dev simulate --seed \(first.seed) replays the first of them")
    }
    print(
      "\(seeds.count) seeds, \(Int(Double(seeds.count) / seconds)) seeds/s on \(workers) cores,",
      "\(violations.count) violations")
    return violations.isEmpty ? 0 : 1
  }
}

/// The parsed command line.
enum Order {
  case one(UInt64)
  case many(Range<UInt64>)
  case faults

  init?(_ arguments: ArraySlice<String>) {
    var words = Array(arguments)
    var count: UInt64 = 20_000
    var first: UInt64 = 0
    if words == ["--faults"] {
      self = .faults
      return
    }
    while !words.isEmpty {
      guard words.count >= 2, let number = UInt64(words[1]) else { return nil }
      switch words[0] {
      case "--seed":
        self = .one(number)
        return
      case "--seeds": count = number
      case "--from": first = number
      default: return nil
      }
      words.removeFirst(2)
    }
    guard count <= UInt64(Int.max), first <= .max - count else { return nil }
    self = .many(first..<first + count)
  }
}

/// Hands out seeds, and collects their results.
actor Score {
  private let all: Range<UInt64>
  private var given: UInt64
  private var done: UInt64 = 0
  private(set) var violations: [Simulation] = []

  init(seeds: Range<UInt64>) {
    all = seeds
    given = seeds.lowerBound
  }

  func next() -> Range<UInt64>? {
    guard given < all.upperBound else { return nil }
    let chunk = given..<min(given + 100, all.upperBound)
    given = chunk.upperBound
    return chunk
  }

  func add(_ count: Int, _ found: [Simulation], after elapsed: Duration) {
    done += UInt64(count)
    violations = (violations + found).sorted { $0.seed < $1.seed }
    Console.progress(
      done, of: UInt64(all.count), by: UInt64(count), violations: violations.count, after: elapsed)
  }
}
