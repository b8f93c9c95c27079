import { type Clock, systemClock } from '../core/clock.ts'
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
   * tree it is first come, first served, but for a session whose warm slot was taken from it: that one is next. Rejects with `fenced` when the owner gives up before.
   */
  acquire(server: string, limit: number, owner: SlotOwner, priority: SlotPriority): Promise<void>
  /**
   * Gives back one slot of the owner, or takes it out of the line when it holds none. With `keepWarm` the slot waits a
   * moment for the same session's next request, whose prompt the server still has, unless another tree or a person waits.
   */
  release(server: string, owner: SlotOwner, keepWarm?: boolean): void
  /** Only after the worker of that epoch has exited or given the session back. */
  releaseAll(owner: SlotOwner): void
  /** Servers with a slot in use. */
  readonly size: number
}

export type SlotsOptions = {
  clock?: Clock
  /** Somebody has to wait; `ahead` is the number of requests that have to end first. */
  onWaiting?: (owner: SlotOwner, ahead: number) => void
}

type Waiting = { owner: SlotOwner; priority: SlotPriority; resolve(): void; reject(error: RuntimeError): void }

/**
 * `turns` has the trees that wait, the one whose turn it is first. `interrupted`: sessions whose warm slot another one took,
 * with the requests that they had in a row.
 */
type Server = {
  limit: number
  holders: SlotOwner[]
  waiting: Waiting[]
  turns: SessionId[]
  warm: Warm[]
  streak: { session?: SessionId; length: number }
  interrupted: Map<SessionId, number>
}

/** A free slot that waits for one session. */
type Warm = { owner: SlotOwner; cancel: () => void }

/** Requests that one session may have in a row while others wait. */
const maxStreak = 16

/** How long a slot waits for the next request of its session, in milliseconds. */
const warmMs = 200

/** Holds nothing that must be closed. */
export function createSlots({ onWaiting, clock = systemClock }: SlotsOptions = {}): Slots {
  const servers = new Map<string, Server>()

  function serverOf(name: string, limit: number): Server {
    const server = servers.get(name) ?? newServer(limit)
    servers.set(name, server)
    server.limit = limit
    return server
  }

  function leave(name: string, server: Server, owner: SlotOwner): void {
    server.interrupted.delete(owner.session)
    dropWaiting(server, owner)
    coolDown(server, (warm) => isSame(warm.owner, owner))
    serveAll(server)
    forgetIdle(name, server)
  }

  function keep(name: string, server: Server, owner: SlotOwner): void {
    const warm: Warm = {
      owner,
      cancel: clock.after(warmMs, () => {
        coolDown(server, (one) => one === warm)
        serveAll(server)
        forgetIdle(name, server)
      }),
    }
    server.warm.push(warm)
  }

  function forgetIdle(name: string, { holders, warm }: Server): void {
    if (holders.length === 0 && warm.length === 0) servers.delete(name)
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
    release(name, owner, keepWarm = false) {
      const server = servers.get(name)
      if (server === undefined) return
      const held = server.holders.findIndex((holder) => isSame(holder, owner))
      if (held < 0) return leave(name, server, owner)
      server.holders.splice(held, 1)
      server.interrupted.delete(owner.session)
      if (keepWarm && mayGoOn(server, owner)) keep(name, server, owner)
      serveAll(server)
      forgetIdle(name, server)
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

function newServer(limit: number): Server {
  return { limit, holders: [], waiting: [], turns: [], warm: [], streak: { length: 0 }, interrupted: new Map() }
}

function enqueue(server: Server, waiting: Waiting): void {
  const isOther = ({ owner, priority }: Waiting) => owner.root === waiting.owner.root && priority === waiting.priority
  const first = server.interrupted.has(waiting.owner.session) ? server.waiting.findIndex(isOther) : -1
  if (first < 0) server.waiting.push(waiting)
  else server.waiting.splice(first, 0, waiting)
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

/** Counts requests in a row; past the bound the others have their turn. */
function mayGoOn(server: Server, { session }: SlotOwner): boolean {
  const { streak } = server
  server.streak = { session, length: streak.session === session ? streak.length + 1 : 1 }
  if (server.streak.length < maxStreak || server.waiting.length === 0) return true
  server.streak = { length: 0 }
  return false
}

/** Slots that wait for nobody any more. */
function coolDown(server: Server, matches: (warm: Warm) => boolean): void {
  for (const warm of server.warm.filter(matches)) warm.cancel()
  server.warm = server.warm.filter((warm) => !matches(warm))
}

/**
 * Who is next. A slot that is kept warm is for its own session; another tree, or a person of its tree, does not wait for it.
 * `undefined`: nobody waits, or only those who let the warm session go first.
 */
function choose(server: Server): Waiting | undefined {
  const next = firstOf(server, 'foreground') ?? firstOf(server, 'background')
  const freeSlots = server.limit - server.holders.length
  if (next === undefined || server.warm.length < freeSlots) return next
  const returning = server.waiting.find(({ owner }) => server.warm.some((warm) => warm.owner.session === owner.session))
  const overtakes = ({ owner, priority }: Waiting) =>
    server.warm.every((warm) => warm.owner.root !== owner.root) ||
    (priority === 'foreground' && returning?.priority !== 'foreground')
  return firstOf(server, 'foreground', overtakes) ?? firstOf(server, 'background', overtakes) ?? returning
}

function takeNext(server: Server): Waiting | undefined {
  const next = choose(server)
  if (next === undefined) return undefined
  // A slot is taken: by the session it was kept for, or from the one that waited longest.
  const warm = server.warm.find(({ owner }) => owner.session === next.owner.session) ?? server.warm[0]
  if (server.warm.length >= server.limit - server.holders.length) {
    coolDown(server, (one) => one === warm)
    if (warm && warm.owner.session !== next.owner.session) interrupt(server, warm.owner)
  }
  server.waiting.splice(server.waiting.indexOf(next), 1)
  goOn(server, next.owner)
  const { root } = next.owner
  server.turns = server.turns.filter((turn) => turn !== root)
  if (server.waiting.some(({ owner }) => owner.root === root)) server.turns.push(root)
  return next
}

/** It goes before the others of its tree when it asks again: each of them would read its own prompt anew. */
function interrupt(server: Server, { session }: SlotOwner): void {
  const { streak } = server
  server.interrupted.set(session, streak.session === session ? streak.length : 1)
}

/** A session that had been interrupted: its requests in a row are counted on. */
function goOn(server: Server, { session }: SlotOwner): void {
  const length = server.interrupted.get(session)
  if (length === undefined) return
  server.interrupted.delete(session)
  server.streak = { session, length }
}

function firstOf(
  { turns, waiting }: Server,
  priority: SlotPriority,
  matches = (_: Waiting): boolean => true,
): Waiting | undefined {
  for (const root of turns) {
    const first = waiting.find((one) => one.owner.root === root && one.priority === priority && matches(one))
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
