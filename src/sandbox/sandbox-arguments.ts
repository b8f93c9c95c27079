import { dirname, sep } from 'node:path'

/** One thing to mount, in order: later ones lie over earlier ones. Paths are absolute and real. */
export type Mount = { kind: 'read-only' | 'writable' | 'empty' | 'hidden'; path: string }

export type SandboxPlan = {
  mounts: readonly Mount[]
  network: boolean
  cwd: string
}

// Namespaces of its own, no rights, no further sandbox inside, and an end with the program that started it.
const isolation = [
  '--unshare-user',
  '--disable-userns',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--cap-drop',
  'ALL',
  '--die-with-parent',
  '--new-session',
]

/** What `bwrap` is started with, up to and including `--`. Everything not mounted otherwise is the system's, read-only. */
export function sandboxArguments({ mounts, network, cwd }: SandboxPlan): string[] {
  return [
    ...isolation,
    ...(network ? [] : ['--unshare-net']),
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...mounts.flatMap(argumentsOf),
    ...['--chdir', cwd, '--'],
  ]
}

function argumentsOf({ kind, path }: Mount): string[] {
  switch (kind) {
    case 'read-only':
      return ['--ro-bind', path, path]
    case 'writable':
      return ['--bind', path, path]
    case 'empty':
      return ['--tmpfs', path]
    case 'hidden':
      return ['--ro-bind', '/dev/null', path]
  }
}

/** True when `path` is `folder` or lies in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : folder + sep)
}

/** The path itself or the nearest folder above for which `holds`; at last the root. */
export function nearest(path: string, holds: (path: string) => boolean): string {
  for (let at = path; ; at = dirname(at)) if (holds(at) || at === dirname(at)) return at
}
