import { diffChanges as diffIn, type RunDiff } from './changes/diff-changes.ts'
import type { ChangeScope } from './changes/load-changes.ts'
import { type UndoOutcome, undoChanges as undoIn } from './changes/undo-changes.ts'
import { openStore } from './saved-sessions.ts'

export type { JobDiff, RunDiff } from './changes/diff-changes.ts'
export type { ChangeScope } from './changes/load-changes.ts'
export type { UndoOutcome } from './changes/undo-changes.ts'

/** Puts back the files that a run changed and nobody changed since; see docs/shared-context.md. */
export async function undoChanges(scope: ChangeScope, dataDir?: string): Promise<UndoOutcome> {
  const store = openStore(dataDir)
  try {
    return await undoIn(store, scope)
  } finally {
    await store.close()
  }
}

/** What a run's tools changed, by job. Reads only. */
export function diffChanges(scope: ChangeScope, dataDir?: string): RunDiff {
  return diffIn(openStore(dataDir), scope)
}
