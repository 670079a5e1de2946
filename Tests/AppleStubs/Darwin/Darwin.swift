// Stands in for Apple's C library where there is none, so that what is written for it can be type-checked. It is that of Linux,
// with what Darwin has besides, and with Darwin's types where they are others; nothing of it is ever run.
public import Dispatch
@_exported public import Glibc

public typealias mode_t = UInt16
public let S_IFMT: mode_t = 0o170000
public let S_IFREG: mode_t = 0o100000

// Disfavored: a literal fits Linux's, too.
@_disfavoredOverload
@discardableResult
public func fchmod(_ descriptor: Int32, _ mode: mode_t) -> Int32 { 0 }

/// The fields whose types or names are not Linux's.
public struct stat {
  public init() {}
  public var st_dev: Int32 = 0
  public var st_mode: mode_t = 0
  public var st_nlink: UInt16 = 0
  public var st_ino: UInt64 = 0
  public var st_uid: UInt32 = 0
  public var st_gid: UInt32 = 0
  public var st_mtimespec = timespec()
  public var st_ctimespec = timespec()
  public var st_size: Int64 = 0
}

@discardableResult
public func fstat(_ descriptor: Int32, _ status: UnsafeMutablePointer<stat>!) -> Int32 { 0 }

@discardableResult
public func fstatat(
  _ folder: Int32, _ path: UnsafePointer<CChar>!, _ status: UnsafeMutablePointer<stat>!, _ flags: Int32
) -> Int32 { 0 }

extension sigaction {
  public struct __Unnamed_union___sigaction_u {
    public var __sa_handler: (@convention(c) (Int32) -> Void)?
  }
  public var __sigaction_u: __Unnamed_union___sigaction_u { fatalError() }
}

public func _NSGetEnviron() -> UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>! { nil }

public let SOCK_STREAM: Int32 = 1
public let F_FULLFSYNC: Int32 = 51

@discardableResult
public func memset_s(_ start: UnsafeMutableRawPointer!, _ size: Int, _ byte: Int32, _ count: Int) -> Int32 { 0 }
@available(macOS 10.4, *)
@discardableResult
public func sysctlbyname(
  _ name: UnsafePointer<CChar>!, _ old: UnsafeMutableRawPointer!, _ oldSize: UnsafeMutablePointer<Int>!,
  _ new: UnsafeMutableRawPointer!, _ newSize: Int
) -> Int32 { 0 }

// Of Dispatch, where files are watched. macOS 10.6, iOS 4, tvOS 9, watchOS 2.
public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {
  var data: DispatchSource.FileSystemEvent { get }
}

extension DispatchSource {
  public class func makeFileSystemObjectSource(
    fileDescriptor: Int32, eventMask: DispatchSource.FileSystemEvent, queue: DispatchQueue? = nil
  ) -> any DispatchSourceFileSystemObject { fatalError() }
}

// libproc.h and sys/proc_info.h
public struct proc_bsdinfo {
  public var pbi_status: UInt32 = 0
  public var pbi_start_tvsec: UInt64 = 0
  public var pbi_start_tvusec: UInt64 = 0
  public init() {}
}
public let PROC_PIDTBSDINFO: Int32 = 3
public let SZOMB: Int32 = 5
public func proc_name(_ pid: Int32, _ buffer: UnsafeMutableRawPointer?, _ size: UInt32) -> Int32 { 0 }
public func proc_pidinfo(
  _ pid: Int32, _ flavor: Int32, _ arg: UInt64, _ buffer: UnsafeMutableRawPointer?, _ buffersize: Int32
) -> Int32 { 0 }

// sys/un.h and sys/ucred.h
public let SOL_LOCAL: Int32 = 0
public let LOCAL_PEERCRED: Int32 = 1
public struct xucred: Sendable {
  public var cr_version: UInt32 = 0
  public var cr_uid: UInt32 = 0
  public init() {}
}

// sys/mount.h
public struct statfs {
  public typealias Name = (
    CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar
  )
  public var f_flags: UInt32 = 0
  public var f_fstypename: Name = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
  public init() {}
}
public let MNT_LOCAL: Int32 = 0x1000
public func fstatfs(_ descriptor: Int32, _ status: UnsafeMutablePointer<statfs>!) -> Int32 { 0 }
