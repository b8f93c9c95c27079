import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a command did: each program that was started, as its name and its words, and each file that is not as it was. */
export type Recorded = { programs: string[][]; changed: string[] }

/** Runs commands where every program is a stub that only writes down how it was called. */
export type RecordingShell = {
  /** The folder in which commands run. */
  dir: string
  /** True when a sandbox keeps commands from everything outside of `dir`. */
  isConfined: boolean
  run(shell: string, command: string): Recorded
  close(): void
}

// What a stub prints may become part of another command: it should be noticed.
const stub = `#!/bin/sh
{ [ $# -eq 0 ] || printf '%s\\0' "$@"; } > "$RECORD/\${0##*/}.$$"
echo 'touch M'
`
// These are judged by what they run, so they have to run it.
const wrappers = ['env', 'timeout', 'nice', 'nohup', 'stdbuf', 'sh', 'bash']
const bubblewrap = '/usr/bin/bwrap'

export function createRecordingShell(programs: string[]): RecordingShell {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-recorded-')))
  const [dir, bin, record] = [join(base, 'proj'), join(base, 'bin'), join(base, 'record')]
  mkdirSync(bin)
  for (const name of programs) {
    writeFileSync(join(bin, name), stub)
    chmodSync(join(bin, name), 0o755)
  }
  for (const name of wrappers) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nfor real in /usr/bin/${name} /bin/${name}; do [ -x "$real" ] && exec "$real" "$@"; done\n`,
    )
    chmodSync(join(bin, name), 0o755)
  }
  const confine = [
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--proc',
    '/proc',
    '--bind',
    dir,
    dir,
    '--bind',
    record,
    record,
    '--chdir',
    dir,
  ]
  const flags = [...confine, '--unshare-all', '--die-with-parent', '--new-session']
  const isConfined = spawnSync(bubblewrap, ['--ro-bind', '/', '/', '--unshare-all', '/bin/true']).status === 0
  const env = { PATH: bin, HOME: join(base, 'home'), RECORD: record, PWD: dir }

  return {
    dir,
    isConfined,
    run(shell, command) {
      fill(dir)
      const before = snapshot(dir)
      rmSync(record, { recursive: true, force: true })
      mkdirSync(record)
      const [program, args] = isConfined ? [bubblewrap, [...flags, shell, '-c', command]] : [shell, ['-c', command]]
      spawnSync(program, args, { cwd: dir, env, stdio: 'ignore', timeout: 5000, killSignal: 'SIGKILL' })
      const programs = readRecord(record)
      const after = snapshot(dir)
      return {
        programs,
        changed: [...new Set([...before.keys(), ...after.keys()])].filter(
          (path) => before.get(path) !== after.get(path),
        ),
      }
    },
    close: () => rmSync(base, { recursive: true, force: true }),
  }
}

/** The same files before each command. */
function fill(dir: string): void {
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(join(dir, 'sub'), { recursive: true })
  for (const path of ['f', 'a b', 'sub/g']) writeFileSync(join(dir, path), 'touch M\n')
}

function snapshot(dir: string): Map<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [path.slice(dir.length + 1), entry.isFile() ? readFileSync(path, 'utf8') : 'no file']
    }),
  )
}

/** Each program has written a file of its own: in a pipe they run at the same time. */
function readRecord(folder: string): string[][] {
  return readdirSync(folder).map((file) => [
    file.slice(0, file.lastIndexOf('.')),
    ...readFileSync(join(folder, file), 'utf8').split('\0').slice(0, -1),
  ])
}
