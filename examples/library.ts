import { createTroupe } from 'troupe'

const troupe = await createTroupe({ dir: '.', onAsk: async () => ({ decision: 'reject' }) })
troupe.events.subscribe((event) => {
  if (event.type === 'job.finished') console.error(`${event.alias} (${event.agent}): ${event.state}`)
})

const { status, text } = await troupe.run({ prompt: 'Look around and tell me what is here.' }).finished
console.log(`${status}: ${text}`)
await troupe.close()
