import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Tool } from '../define-tool.ts'
import { toolsets } from '../toolsets.ts'
import { type CallOptions, createToolWorld, removeToolWorlds, type ToolWorld } from './tool-world.ts'

/** What a tool needs to be tried: a good call, what makes it possible, and a call with long output if it can have one. */
export type ToolTrial = {
  args: Record<string, unknown>
  prepare?(world: ToolWorld): Promise<void>
  options?: CallOptions
  /** Arguments and options of a call whose output is long. */
  long?: { args?: Record<string, unknown>; options?: CallOptions }
}

/** What every tool must do, through the runner, on a real workspace. */
export function toolContract(tool: Tool, trial: ToolTrial): void {
  describe(`the tool ${tool.name}`, () => {
    let world: ToolWorld
    beforeEach(async () => {
      world = await createToolWorld()
      await trial.prepare?.(world)
    })
    afterAll(removeToolWorlds)
    const options = { tools: [tool], spawnable: [{ name: 'explorer', description: '' }], ...trial.options }

    test('declares an input that JSON Schema can say, and takes what the schema allows', async () => {
      const schema = z.toJSONSchema(tool.input, { io: 'input' })
      expect(schema.type).toBe('object')
      const overWire = z.fromJSONSchema(JSON.parse(JSON.stringify(schema)))
      expect(overWire.safeParse(trial.args).success).toBe(true)
      expect(tool.input.safeParse(trial.args).success).toBe(true)
      expect(tool.name).toMatch(/^[a-z_]+$/)
    })

    test('does its work', async () => {
      const result = await world.result(tool.name, trial.args, options)
      expect(result).toMatchObject({ isError: false, how: 'ok' })
      expect(result.output).not.toBe('')
    })

    test.skipIf(requiredOf(tool).length === 0)(
      'answers invalid parameters with its schema and does nothing',
      async () => {
        for (const name of requiredOf(tool)) {
          const { [name]: _, ...rest } = trial.args
          const before = await world.run('ls -lAR --time-style=full-iso')
          const result = await world.result(tool.name, rest, options)
          expect(result).toMatchObject({ isError: true, how: 'error' })
          expect(result.output).toContain(`\n- ${name}: `)
          expect(result.output).toContain('"properties"')
          expect(await world.run('ls -lAR --time-style=full-iso')).toBe(before)
        }
      },
    )

    test('does nothing once cancelled', async () => {
      const before = await world.run('ls -lAR --time-style=full-iso')
      const result = await world.result(tool.name, trial.args, { ...options, signal: AbortSignal.abort() })
      expect(result.how).toBe('cancelled')
      expect(await world.run('ls -lAR --time-style=full-iso')).toBe(before)
    })

    test('records the start of a call exactly when it may act', async () => {
      await world.result(tool.name, trial.args, options)
      expect(world.started).toHaveLength(tool.effect === 'write' ? 1 : 0)
    })

    test.runIf(tool.effect === 'read')('changes nothing in the workspace', async () => {
      const before = await world.run('find . -type f -exec sha1sum {} + | sort; ls -AR')
      await world.result(tool.name, trial.args, options)
      expect(await world.run('find . -type f -exec sha1sum {} + | sort; ls -AR')).toBe(before)
    })

    test('asks for its permission before it acts, and takes no for an answer', async () => {
      const before = await world.run('ls -lAR --time-style=full-iso')
      const decide = () => ({ action: 'deny' as const, reason: 'No.' })
      const result = await world.result(tool.name, trial.args, { ...options, decide })
      if (world.asked.length === 0) return expect(result.how).toBe('ok')
      expect(result.how).toBe('denied')
      expect(await world.run('ls -lAR --time-style=full-iso')).toBe(before)
    })

    test.runIf(trial.long)('keeps to the limit of either toolset', async () => {
      const args = { ...trial.args, ...trial.long?.args }
      for (const toolset of ['full', 'compact'] as const) {
        const result = await world.result(tool.name, args, { ...options, ...trial.long?.options, toolset })
        expect(result.output.length).toBeLessThanOrEqual(toolsets[toolset].maxChars)
        expect(result.output).toMatch(/truncated|continue|showing|more/)
      }
    })
  })
}

function requiredOf(tool: Tool): string[] {
  return z.toJSONSchema(tool.input, { io: 'input' }).required ?? []
}
