// Stands in for Apple's CoreData; see Security.swift. iOS 3, macOS 10.4, tvOS 9, watchOS 2, unless a declaration says otherwise.
public import Foundation

public let NSMigratePersistentStoresAutomaticallyOption = ""
public let NSInferMappingModelAutomaticallyOption = ""

open class NSPersistentStore: NSObject {
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public struct StoreType: Sendable {
    public static let sqlite = StoreType()
  }
}

open class NSPersistentStoreCoordinator: NSObject {
  public var persistentStores: [NSPersistentStore] { [] }
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func addPersistentStore(
    type: NSPersistentStore.StoreType, configuration: String? = nil, at storeURL: URL,
    options: [AnyHashable: Any]? = nil
  ) throws -> NSPersistentStore { NSPersistentStore() }
  public func remove(_ store: NSPersistentStore) throws {}
  @available(iOS 15, macOS 12, tvOS 15, watchOS 8, *)
  public func destroyPersistentStore(
    at url: URL, type: NSPersistentStore.StoreType, options: [AnyHashable: Any]? = nil
  ) throws {}
}

open class NSManagedObjectContext: NSObject {
  public func reset() {}
}

@available(iOS 10, macOS 10.12, tvOS 10, watchOS 3, *)
open class NSPersistentContainer: NSObject {
  public init(name: String) {}
  public var viewContext: NSManagedObjectContext { NSManagedObjectContext() }
  public var persistentStoreCoordinator: NSPersistentStoreCoordinator { NSPersistentStoreCoordinator() }
}
