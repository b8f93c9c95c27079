import { createHash } from 'node:crypto'
import { mkdir, readFile, realpath, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { projectConfigPath } from './load-config.ts'

/** Whether the user has trusted this folder with the configuration that it has now. A changed file must be trusted anew. */
export async function isTrusted(dataDir: string, worktree: string): Promise<boolean> {
  const real = await realpath(worktree)
  const record = parseRecord(await bytesOf(recordPath(dataDir, real)))
  return record?.worktree === real && record.config === (await hashOf(real))
}

/** Trusts a folder with the configuration that it has now. */
export async function trust(dataDir: string, worktree: string): Promise<void> {
  const real = await realpath(worktree)
  const path = recordPath(dataDir, real)
  const part = `${path}.${process.pid}.tmp`
  await mkdir(join(dataDir, 'trusted'), { recursive: true, mode: 0o700 })
  await writeFile(part, `${JSON.stringify({ worktree: real, config: await hashOf(real) })}\n`, { mode: 0o600 })
  await rename(part, path)
}

/** One file for each folder, so that two processes never overwrite each other's answer. */
function recordPath(dataDir: string, worktree: string): string {
  return join(dataDir, 'trusted', `${sha256(worktree)}.json`)
}

function parseRecord(bytes: Buffer | undefined): { worktree?: unknown; config?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(bytes?.toString() ?? 'null')
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    // A damaged record trusts nothing: the user is asked again.
    return undefined
  }
}

async function hashOf(worktree: string): Promise<string> {
  const bytes = await bytesOf(projectConfigPath(worktree))
  return bytes ? sha256(bytes) : 'none'
}

async function bytesOf(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch {
    // Not there, or not readable: loadConfig says so when it is needed.
    return undefined
  }
}

function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex')
}
