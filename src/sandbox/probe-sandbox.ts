import { execFile } from 'node:child_process'
import { platform } from 'node:os'
import { findBubblewrap } from './find-bubblewrap.ts'
import { sandboxArguments } from './sandbox-arguments.ts'

/** The sandbox of this machine: the program that makes it, or why there is none, with the remedy. */
export type FoundSandbox = { file: string } | { problem: string }

const probeMs = 10_000

/** Finds bubblewrap and runs something in it, as commands will be: whether it works shows only then. Rejects never. */
export async function probeSandbox(folders?: readonly string[]): Promise<FoundSandbox> {
  if (platform() !== 'linux') return { problem: 'there is a sandbox for commands on Linux only' }
  const file = findBubblewrap(folders)
  if (file === undefined) {
    return { problem: 'bubblewrap (bwrap) is not installed; install it, such as with: apt-get install bubblewrap' }
  }
  const failure = await tryOut(file)
  return failure === undefined ? { file } : { problem: `${file} does not work here: ${failure}` }
}

function tryOut(file: string): Promise<string | undefined> {
  const args = [...sandboxArguments({ mounts: [], network: false, cwd: '/' }), '/bin/sh', '-c', ':']
  return new Promise((resolve) => {
    execFile(file, args, { timeout: probeMs, env: {}, cwd: '/' }, (error, _stdout, stderr) => {
      resolve(error === null ? undefined : (stderr.trim().split('\n')[0] ?? '') || error.message.split('\n')[0])
    })
  })
}
