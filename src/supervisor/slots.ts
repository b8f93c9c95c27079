import { RuntimeError } from '../core/errors.ts'
import type { SessionId } from '../core/ids.ts'

/** An activation that asks a model server; `root` names its tree. */
export type SlotOwner = { session: SessionId; epoch: number; root: SessionId }

/** A person waits for `foreground`. */
export type SlotPriority = 'foreground' | 'background'

/** Requests that a model server takes at the same time. */
export interface Slots {
  /**
   * Resolves when a slot is held. Foreground goes before background; within that, the trees take turns, and within a
   * tree it is first come, first served. Rejects with `fenced` when the owner gives up before.
   */
  acquire(server: string, limit: number, owner: SlotOwner, priority: SlotPriority): Promise<void>
  /** Gives back one slot of the owner, or takes it out of the line when it holds none. */
  release(server: string, owner: SlotOwner): void
  /** Only after the worker of that epoch has exited or given the session back. */
  releaseAll(owner: SlotOwner): void
  /** Servers with a slot in use. */
  readonly size: number
}

export type SlotsOptions = {
  /** Somebody has to wait; `ahead` is the number of requests that have to end first. */
  onWaiting?: (owner: SlotOwner, ahead: number) => void
}

type Waiting = { owner: SlotOwner; priority: SlotPriority; resolve(): void; reject(error: RuntimeError): void }

/** `turns` has the trees that wait, the one whose turn it is first. */
type Server = { limit: number; holders: SlotOwner[]; waiting: Waiting[]; turns: SessionId[] }

/** Holds nothing that must be closed. */
export function createSlots({ onWaiting }: SlotsOptions = {}): Slots {
  const servers = new Map<string, Server>()

  function serverOf(name: string, limit: number): Server {
    const server = servers.get(name) ?? { limit, holders: [], waiting: [], turns: [] }
    servers.set(name, server)
    server.limit = limit
    return server
  }

  function leave(name: string, server: Server, owner: SlotOwner): void {
    dropWaiting(server, owner)
    serveAll(server)
    if (server.holders.length === 0) servers.delete(name)
  }

  return {
    acquire(name, limit, owner, priority) {
      const server = serverOf(name, limit)
      return new Promise((resolve, reject) => {
        const ahead = server.holders.length - server.limit + 1 + server.waiting.length
        enqueue(server, { owner, priority, resolve, reject })
        serveAll(server)
        if (ahead > 0) onWaiting?.(owner, ahead)
      })
    },
    release(name, owner) {
      const server = servers.get(name)
      if (server === undefined) return
      const held = server.holders.findIndex((holder) => isSame(holder, owner))
      if (held < 0) return leave(name, server, owner)
      server.holders.splice(held, 1)
      serveAll(server)
      if (server.holders.length === 0) servers.delete(name)
    },
    releaseAll(owner) {
      for (const [name, server] of [...servers]) {
        server.holders = server.holders.filter((holder) => !isSame(holder, owner))
        leave(name, server, owner)
      }
    },
    get size() {
      return servers.size
    },
  }
}

function enqueue(server: Server, waiting: Waiting): void {
  server.waiting.push(waiting)
  if (!server.turns.includes(waiting.owner.root)) server.turns.push(waiting.owner.root)
}

function serveAll(server: Server): void {
  while (server.holders.length < server.limit) {
    const next = takeNext(server)
    if (next === undefined) return
    server.holders.push(next.owner)
    next.resolve()
  }
}

function takeNext(server: Server): Waiting | undefined {
  const next = firstOf(server, 'foreground') ?? firstOf(server, 'background')
  if (next === undefined) return undefined
  server.waiting.splice(server.waiting.indexOf(next), 1)
  const { root } = next.owner
  server.turns = server.turns.filter((turn) => turn !== root)
  if (server.waiting.some(({ owner }) => owner.root === root)) server.turns.push(root)
  return next
}

function firstOf({ turns, waiting }: Server, priority: SlotPriority): Waiting | undefined {
  for (const root of turns) {
    const first = waiting.find((one) => one.owner.root === root && one.priority === priority)
    if (first !== undefined) return first
  }
  return undefined
}

function dropWaiting(server: Server, owner: SlotOwner): void {
  const leaving = server.waiting.filter((waiting) => isSame(waiting.owner, owner))
  if (leaving.length === 0) return
  server.waiting = server.waiting.filter((waiting) => !leaving.includes(waiting))
  server.turns = server.turns.filter((root) => server.waiting.some((waiting) => waiting.owner.root === root))
  for (const { reject } of leaving) reject(fenced(owner))
}

function isSame(one: SlotOwner, other: SlotOwner): boolean {
  return one.session === other.session && one.epoch === other.epoch
}

function fenced({ session, epoch }: SlotOwner): RuntimeError {
  return new RuntimeError('fenced', `Epoch ${epoch} of session ${session} is over: it no longer waits for a slot.`)
}
