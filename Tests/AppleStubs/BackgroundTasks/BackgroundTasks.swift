// Stands in for Apple's BackgroundTasks; see Security.swift. iOS 13, tvOS 13; there is none on macOS, little on watchOS.
public import Foundation

open class BGTaskRequest: NSObject {
  public var earliestBeginDate: Date?
}

open class BGAppRefreshTaskRequest: BGTaskRequest {
  public init(identifier: String) { super.init() }
}

open class BGTaskScheduler: NSObject {
  public class var shared: BGTaskScheduler { BGTaskScheduler() }
  public func submit(_ request: BGTaskRequest) throws {}
}
