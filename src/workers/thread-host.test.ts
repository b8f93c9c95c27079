import { resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { toErrorData } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'
import type { ActivationTask, SupervisorApi } from '../core/messages.ts'
import { createJournal, seed } from '../session/test-session.ts'
import type { WorkerDeath } from './host.ts'
import { createThreadHost } from './thread-host.ts'

function openHost(api: Partial<SupervisorApi>, workerFile?: string) {
  const deaths: WorkerDeath[] = []
  const host = createThreadHost({
    api: api as SupervisorApi,
    threads: 1,
    onLive: () => undefined,
    onDied: (death) => void deaths.push(death),
    ...(workerFile && { workerFile: resolve(import.meta.dirname, '../../test/fixtures/workers', workerFile) }),
  })
  onTestFinished(() => host.close())
  return { host, deaths }
}

/** A session that has one message and asks its supervisor to append first of all. */
function taskOf(name: string): ActivationTask {
  const session = name as SessionId
  const { state, add } = createJournal()
  add(
    { type: 'session.created', version: 1, seed: { ...seed, session, root: session, dir: import.meta.dirname } },
    { type: 'message.received', message: { kind: 'user', text: 'go' } },
  )
  return {
    session,
    epoch: 1,
    state,
    settings: {
      permissionMode: 'deny',
      rules: [],
      projectTrusted: false,
      toolset: 'full',
      maxDepth: 1,
      limits: {},
      budget: {},
      prices: {},
    },
    model: {
      provider: 'scripted',
      path: '/none',
      profile: { ref: 'scripted:x', contextTokens: 4096, tools: true },
    },
    attempt: 1,
    spawnable: [],
    skills: [],
    grants: [],
    above: [],
    outputDir: '/none',
  } as unknown as ActivationTask
}

const never = new Promise<never>(() => undefined)

/** Answers after a while, and each time as if nothing had been said. */
async function slowly(): Promise<{ records: [] }> {
  await new Promise((resolve) => setTimeout(resolve, 100))
  return { records: [] }
}

describe('activations on their way', () => {
  test('all reject with one error that says why when their thread goes, and others can be placed', async () => {
    const { host, deaths } = openHost({}, 'exits-when-called.mjs')
    const placed = ['a', 'b', 'c'].map((name) => host.activate(taskOf(name), false))
    const outcomes = await Promise.allSettled(placed.map(({ ended }) => ended))
    const errors = outcomes.map((outcome) => (outcome.status === 'rejected' ? toErrorData(outcome.reason) : undefined))
    for (const error of errors)
      expect(error).toMatchObject({ code: 'worker-died', message: 'Worker w1 died: it exited with code 0' })
    await Promise.all(placed.map(({ left }) => left))
    expect(deaths).toHaveLength(1)
    expect(deaths[0]?.aboard.map(({ session }) => session).sort()).toEqual(['a', 'b', 'c'])
    const { worker, ended } = host.activate(taskOf('d'), false)
    expect(worker).toBe('w2')
    await expect(ended).rejects.toMatchObject({ code: 'worker-died' })
  })

  test('reject when the host is closed; that is no death', async () => {
    const { host, deaths } = openHost({ append: () => never })
    const { ended } = host.activate(taskOf('a'), false)
    const outcome = expect(ended).rejects.toMatchObject({ code: 'worker-died' })
    await host.close()
    await outcome
    expect(deaths).toEqual([])
  })

  test('end as cancelled by a message; those beside them go on', async () => {
    const { host } = openHost({ append: slowly })
    const [a, b] = [host.activate(taskOf('a'), false), host.activate(taskOf('b'), false)]
    host.cancel(a.worker, { session: 'a' as SessionId, epoch: 1 })
    expect(await a.ended).toEqual({ outcome: 'cancelled' })
    await a.left
    expect(host.free(false)).toBe(127)
    host.cancel(b.worker, { session: 'b' as SessionId, epoch: 1 })
    expect(await b.ended).toEqual({ outcome: 'cancelled' })
  })
})

describe('what crosses the threads', () => {
  class PermissionDenied extends Error {
    override name = 'PermissionDenied'
    code = 'E_PERM'
    retryable = false
    callback = () => undefined
    self = this
  }

  test('keeps class, code, fields, cause and stack of an error, both ways', async () => {
    const thrown = new PermissionDenied('not yours', { cause: new TypeError('inner') })
    const { host } = openHost({ append: () => Promise.reject(thrown) })
    const end = await host.activate(taskOf('a'), false).ended
    expect(end).toMatchObject({
      outcome: 'crashed',
      error: {
        name: 'PermissionDenied',
        code: 'E_PERM',
        message: 'not yours',
        stack: thrown.stack,
        fields: { retryable: false },
        cause: { name: 'TypeError', message: 'inner' },
      },
    })
  })

  test('that cannot be cloned is refused with the session it is of; the worker is unharmed', async () => {
    const { host, deaths } = openHost({ append: slowly })
    const broken = { ...taskOf('a'), skills: [{ run: () => undefined }] } as unknown as ActivationTask
    const { ended, left } = host.activate(broken, false)
    await expect(ended).rejects.toThrow(/The task of session a cannot be sent to a worker: .*could not be cloned/)
    await left
    const { ended: other } = host.activate(taskOf('b'), false)
    host.cancel('w1' as never, { session: 'b' as SessionId, epoch: 1 })
    expect(await other).toEqual({ outcome: 'cancelled' })
    expect(deaths).toEqual([])
  })

  test('and comes back as something that cannot be cloned is a readable error', async () => {
    const { host } = openHost({ append: () => Promise.resolve({ records: [() => undefined] } as never) })
    const end = await host.activate(taskOf('a'), false).ended
    expect(end).toMatchObject({ outcome: 'crashed', error: { message: 'Unserializable return value' } })
  })
})
