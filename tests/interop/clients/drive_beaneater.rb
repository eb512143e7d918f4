# Drives beaneater (Debian's ruby-beaneater): plays a scenario as transcript.py does.

require 'beaneater'
require 'json'

def job(client, id)
  Beaneater::Job.new(client, { id: id })
end

# What it has, by beanstalkd's words. Its puts and kicks belong to a tube: the one that is used.
def commands_of(client)
  tubes = client.tubes
  used = -> { tubes[tubes.last_used] }
  {
    'put' => ->(body, pri, delay, ttr) { used.().put(body, pri: pri, delay: delay, ttr: ttr)[:id] },
    'use' => ->(name) { tubes.use(name) },
    'reserve' => -> { tubes.reserve },
    'reserve-with-timeout' => ->(seconds) { tubes.reserve(seconds) },
    'delete' => ->(id) { job(client, id).delete[:status] },
    'release' => ->(id, pri, delay) { job(client, id).release(pri: pri, delay: delay)[:status] },
    'bury' => ->(id, pri) { job(client, id).bury(pri: pri)[:status] },
    'touch' => ->(id) { job(client, id).touch[:status] },
    'watch' => ->(name) { tubes.watch(name) },
    'ignore' => ->(name) { tubes.ignore(name) },
    'peek' => ->(id) { client.jobs.find(id) },
    'peek-ready' => -> { used.().peek(:ready) },
    'peek-delayed' => -> { used.().peek(:delayed) },
    'peek-buried' => -> { used.().peek(:buried) },
    'kick' => ->(count) { used.().kick(count)[:id] },
    'kick-job' => ->(id) { job(client, id).kick[:status] },
    'stats' => -> { client.connection.transmit('stats')[:body] },
    'stats-job' => ->(id) { job(client, id).stats.to_h },
    'stats-tube' => ->(name) { tubes[name].stats.to_h },
    'list-tubes' => -> { tubes.all },
    'list-tube-used' => -> { tubes.used },
    'list-tubes-watched' => -> { tubes.watched },
    'pause-tube' => ->(name, seconds) { tubes[name].pause(seconds)[:status] },
    'close' => -> { client.close },
  }
end

def short(text)
  text.size > 200 ? "#{text[0, 200]}... #{text.size}" : text
end

def write_down(step, call)
  seen = call.()
  if seen.is_a?(Hash)
    seen.each { |field, value| puts "#{step} -> #{field} #{value.inspect}" }
  else
    puts "#{step} -> #{short(seen.inspect)}"
  end
rescue StandardError => error
  puts "#{step} -> #{error.class} #{error.message}"
  error
end

def drain(commands)
  Process.kill('USR1', commands['stats'].()['pid'])
  loop { commands['put'].('drained', 0, 0, 1) }
end

$stdout.sync = true
Encoding.default_external = Encoding::UTF_8
port, path = ARGV
clients = {}
JSON.parse(File.read(path)).each do |name, command, *given|
  commands = clients[name] ||= commands_of(Beaneater.new("127.0.0.1:#{port}"))
  step = [name, command, *given.map { |one| short(one.to_json) }].join(' ')
  if command == 'drain'
    write_down(step, -> { drain(commands) })
  elsif commands[command].nil?
    puts "#{step} -> lacking"
  else
    write_down(step, -> { commands[command].(*given) })
  end
  clients.delete(name) if command == 'close'
end
puts 'done'
