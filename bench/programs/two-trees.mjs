// A tree of many children on one slot of a model, and a second root of one turn that comes in the middle:
// `two-trees.mjs MODEL DIR`. Prints how many replies of the first tree ended while the second one waited for its own.
import { createTroupe } from '../../dist/index.js'

const [, , model, dir] = process.argv
const troupe = await createTroupe({ model, dir, permission: 'deny' })
const first = troupe.run({ prompt: 'Go', agent: 'lead' })
const waits = []
for (let n = 0; n < 10; n++) {
  await replies(7 + n)
  waits.push(await waitOf(troupe.run({ prompt: 'One question', agent: 'general' })))
}
const { status, jobs } = await first.finished
await troupe.close()
console.log(JSON.stringify({ status, waits, delivered: jobs.filter(({ delivered }) => delivered).length }))

/** Resolves after so many more replies of the first tree. */
function replies(count) {
  return new Promise((resolve) => {
    const subscription = troupe.events.subscribe(({ type, root }) => {
      if (type !== 'turn.ended' || root !== first.session) return
      count -= 1
      if (count > 0) return
      subscription.unsubscribe()
      resolve()
    })
  })
}

async function waitOf(run) {
  let ended
  const subscription = troupe.events.subscribe(({ type, root }) => {
    if (type === 'turn.started' && root === run.session) ended = 0
    if (type === 'turn.ended' && root === first.session && ended !== undefined) ended += 1
  })
  await run.finished
  subscription.unsubscribe()
  return ended
}
