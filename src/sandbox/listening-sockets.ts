import { existsSync, readFileSync } from 'node:fs'

/** Sockets in the file system that some program listens on: through them a command would reach out of its sandbox. */
export function listeningSockets(): string[] {
  return parseSockets(readUnixSockets()).filter((path) => existsSync(path))
}

/** Paths of the listening sockets of `/proc/net/unix`, each once; those without a path in the file system have none here. */
export function parseSockets(table: string): string[] {
  // Num RefCount Protocol Flags Type St Inode Path: the flag says that it listens; the path may hold blanks.
  const paths = table.split('\n').map((line) => /^(?:\S+ +){3}00010000 (?:\S+ +){2}\S+ (\/.*)$/.exec(line)?.[1])
  return [...new Set(paths.filter((path) => path !== undefined))]
}

function readUnixSockets(): string {
  try {
    return readFileSync('/proc/net/unix', 'utf8')
  } catch {
    return '' // Not to be read here: the folders in which sockets usually lie are hidden in any case.
  }
}
