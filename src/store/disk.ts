import { fdatasync, fstatSync, ftruncateSync, writeSync } from 'node:fs'

/** The file accesses that can fail under a running session; tests put faults in their place. */
export interface Disk {
  /** May write less than asked for, as a full disk makes the system do. */
  write(fd: number, bytes: Buffer, offset: number, length: number, position: number): number
  truncate(fd: number, length: number): void
  stat(fd: number): { size: number; nlink: number }
  sync(fd: number): Promise<void>
}

export const systemDisk: Disk = {
  write: writeSync,
  truncate: ftruncateSync,
  stat: (fd) => fstatSync(fd),
  sync: (fd) => new Promise((resolve, reject) => fdatasync(fd, (error) => (error ? reject(error) : resolve()))),
}
