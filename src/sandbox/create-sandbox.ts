import type { SandboxLeave } from '../core/messages.ts'
import type { SandboxSettings } from '../core/settings.ts'
import { createMountPoints } from './mount-points.ts'
import { planMounts, wantedPoints } from './plan-mounts.ts'
import { sandboxArguments } from './sandbox-arguments.ts'

/** A command's place in the sandbox: what its shell is started by, program first; `release` once it has ended. */
export type SandboxPlace = { starter: string[]; release(): void }

export type Sandbox = {
  /** `dir`: the worktree, `cwd`: where the command runs, both absolute and real. */
  enter(request: { dir: string; cwd: string; leave?: SandboxLeave }): SandboxPlace
}

/** Confines commands through the bubblewrap in `file`. Holds nothing but what commands at work hold. */
export function createSandbox(file: string, settings: Pick<SandboxSettings, 'mode' | 'network'>): Sandbox {
  const points = createMountPoints()
  return {
    enter({ dir, cwd, leave = {} }) {
      const request = { settings, dir, cwd, leave }
      const held = points.take(wantedPoints(request))
      const network = settings.network || leave.network === true
      const args = sandboxArguments({ mounts: planMounts(request), network, cwd })
      return { starter: [file, ...args], release: () => points.release(held) }
    },
  }
}
