/** The folder format that an agent comes from; it decides what a missing `mode` means and how to read `model`. */
export type AgentFormat = 'troupe' | 'claude' | 'opencode'

/** An agent's model as `provider/name`, or none with a note on why the run's model is taken instead. */
export function parseModelName(
  written: string | null | undefined,
  format: AgentFormat,
): { model?: string; note?: string } {
  const text = written?.trim() ?? ''
  if (text === '' || /^(inherit|default|auto)$/i.test(text)) return {}
  if (/^scripted:./.test(text)) return { model: text }
  const [, provider] = /^([\w.-]+)\/[^\s/]\S*$/.exec(text) ?? []
  if (provider === 'ollama' || (provider !== undefined && format === 'troupe')) return { model: text }
  if (format === 'troupe' && /^[\w.-]+:[\w.-]+$/.test(text)) return { model: `ollama/${text}` }
  return {
    note: `The model "${text}" is not known here; the run's model is taken. Name one as provider/name, such as ollama/qwen3:8b.`,
  }
}
