import type { Kernel } from './kernel.ts'
import { refOf, type SessionEntry } from './session-entry.ts'

/**
 * Resolves when a session's records are on the disk, and with them the launches that led to it. Without these a parent
 * that has lost its end in a power failure would send another child to act on the world a second time. A launch stays on
 * the disk, so it is waited for once.
 */
export async function syncedWithLaunches(kernel: Kernel, entry: SessionEntry): Promise<void> {
  const { generation } = entry
  const above = entry.launchOnDisk === generation ? [] : parentsOf(kernel, entry)
  await Promise.all([entry, ...above].map((one) => kernel.store.synced(refOf(one))))
  entry.launchOnDisk = generation
}

function parentsOf(kernel: Kernel, entry: SessionEntry): SessionEntry[] {
  const parent = kernel.parentOf(entry)
  return parent ? [parent, ...parentsOf(kernel, parent)] : []
}
