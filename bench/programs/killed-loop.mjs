// Eight sessions at work on two threads, and one whose regular expression never ends: `killed-loop.mjs MODEL DIR`. Prints how
// long it took to end its thread, and the others' turns in ms, before it began and from then on.
import { createTroupe } from '../../dist/index.js'

const [, , model, dir] = process.argv
const neighbours = 8
const settleMs = 1500

const troupe = await createTroupe({ model, dir, permission: 'deny', config: { limits: { maxTurns: 100_000 } } })
const turns = { before: [], after: [] }
const began = new Map()
let loopAt
let killedMs
const endless = `${'a'.repeat(60)}b`
troupe.events.subscribe(({ type, session, text }) => {
  const now = performance.now()
  if (type === 'message.added' && text === endless) loopAt ??= now
  if (type === 'worker.died') killedMs ??= now - loopAt
  if (type === 'turn.started') began.set(session, now)
  if (type === 'turn.ended' && began.has(session))
    turns[loopAt === undefined ? 'before' : 'after'].push(now - began.get(session))
})
const others = Array.from({ length: neighbours }, (_, n) => troupe.run({ prompt: `work ${n}`, agent: 'explorer' }))
await pause(settleMs)
const looping = troupe.run({ prompt: endless, agent: 'general' })
await new Promise((resolve) => {
  const subscription = troupe.events.subscribe(({ type }) => {
    if (type !== 'worker.died') return
    subscription.unsubscribe()
    resolve()
  })
})
await pause(settleMs)
await Promise.all([...others, looping].map((run) => run.cancel()))
await troupe.close()
console.log(JSON.stringify({ killedMs, ...turns }))

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
