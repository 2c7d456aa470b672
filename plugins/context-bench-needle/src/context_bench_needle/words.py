"""The words that keys and code words are made of.

Two properties keep a code word from occurring inside another one, and a test holds them: no adjective ends with another
adjective, and no noun begins with another noun. So ``cold-oak`` can never hide ``old-oak``. Changing a list changes
every generated row.
"""

from __future__ import annotations

_ADJECTIVES = """
    airy alert alpine amber ample ancient antique aquatic arctic arid artful ashen atomic austere autumn azure balmy
    bashful basic beaming blazing bleak blunt bold bouncy brash brave breezy bright brisk broad bronze brown bubbly
    bulky burly bustling calm candid careful casual cautious cheery chief chilly chubby civic classic clever cloudy
    clumsy coastal cobalt cosmic cozy crafty creamy crimson crisp crooked cubic curious curly dainty dapper daring
    dark dashing decent deep deft dense digital dim distant diverse docile dormant double dreamy drowsy dual dusty
    dutiful eager earnest earthy eastern elastic elegant elfin emerald endless epic equal exact exotic fabled faint
    fancy feisty fertile festive fickle fierce fiery final firm flat fleet floral fluent fluffy fond formal fragile
    frank fresh frosty frugal fuzzy gallant gaudy genial gentle genuine giant gifted giddy gilded glad glassy gleaming
    global glossy gold graceful grand grassy gray green grumpy gusty handy hardy hasty hazel hearty heavy helpful
    hidden hollow honest humble humid hushed ideal idle immense inland inner ivory jagged jaunty jolly jovial joyful
    jumbo keen kind knotty lanky lavish lazy leafy lean level light linear liquid lively lofty lone long loyal lucid
    lunar lush magenta major maple marble marine mellow merry mighty mild minor minty misty mobile modern modest mossy
    muddy muted mystic narrow nasal native neat neon nimble noble nomadic northern novel nutty oaken oceanic olive
    opal orange orderly outer oval pastel patient peppy petite placid plain plucky plump polar polite prime primal
    private prompt proud puffy purple quaint quick quiet quirky radiant rapid rare ready regal remote rigid ripe
    robust rocky rosy royal rugged rural rustic sable salty sandy satin savory scarlet secret serene shaggy sharp
    shiny shy silent silken silver simple sincere sleek sleepy slender slick slim slow smoky smooth snappy snowy sober
    soft solar solemn solid sonic southern spare speedy spicy spiral spotless spry square stark stately steady steep
    stocky stormy stout strict sturdy subtle sudden sunny superb supple swift tacit tame tangy tawny teal tender tepid
    terse thick thirsty thorny thrifty tidal tidy timid tiny tough tranquil tropical trusty turquoise twin ultra
    upbeat urban useful vacant valiant vast velvet verdant vibrant vintage violet vital vivid volcanic waking walnut
    warm wavy waxen weary western wild willing windy wintry wise witty woolly worthy young zany zealous zesty
"""

_NOUNS = """
    abacus acorn actor adobe agate airship album alcove alder almond anchor anvil apple apron arbor archer armor arrow
    aspen atlas attic auction avenue badger bagel bakery balcony ballad bamboo banjo banner barge barley barrel basil
    basket bazaar beacon beagle beaver bellows bench beret bicycle birch biscuit bison blanket blossom bobcat bonfire
    bookcase bottle boulder bracelet bramble breeze brewery bridge broom bucket buckle buffalo bugle bungalow burrow
    butter cabin cactus camel canary candle canoe canyon caravan cardinal caribou carpet carrot cashew castle catfish
    cavern cedar cello chalk channel chapel chariot cheetah cherry chestnut chimney cider cinder circus citadel
    clarinet clay cliff clock cloister clover cobbler coconut comet compass condor copper coral cornet cottage cougar
    coyote cradle crane crater crayon cricket crocus crystal cupboard curtain cymbal cypress daisy dagger dahlia
    decanter desert diamond dolphin donkey doorway dragon drawer drum duchess dugout dulcimer eagle easel echo eclipse
    elbow elder elephant elm ember engine envelope estuary falcon feather fennel ferret ferry fiddle field fjord
    flagon flamingo flint flute forest forge fossil fountain foxglove freight fresco furnace gable galaxy galleon
    garden garlic gazelle gecko geyser ginger giraffe glacier goblet goose gopher gorge granite grape gravel griddle
    grotto grove guitar gull gypsum hamlet hammock harbor harness harp hatchet hawk heather hedge helmet heron hickory
    hinge honey horizon hornet hut hyena iceberg igloo inkwell island jacket jaguar jasmine javelin jersey jigsaw
    juniper kayak kennel kernel kettle kiln kitten knapsack koala ladder lagoon lantern larch lasso lattice lava
    lavender ledger lemon leopard lever library lilac lighthouse linen lizard llama lobster locket lodge loom lotus
    lumber lute lynx magnet magpie mallet mammoth mandolin mango mantle marigold market marlin marsh meadow melon
    meteor mill mineral mirror mitten monarch moose mortar mosaic mountain mulberry muffin museum mustard napkin
    nectar nettle nickel notebook nutmeg oak oasis oatmeal oboe obelisk ocean octopus orchard orchid osprey ostrich
    otter oyster paddle pagoda palace panther papaya parcel parlor parrot pasture peacock peanut pebble pelican pencil
    pendulum penguin pepper petal pewter piano pickle pigeon pillar pillow pinecone pistachio pitcher planet plateau
    plaza plum pocket poplar poppy porch portrait prairie pretzel prism puffin pulley pumpkin puzzle pyramid quail
    quarry quartz quilt quiver rabbit raccoon radish rafter raisin ranch raven reef ribbon river robin rooster rowboat
    rudder saddle saffron sailor salmon sapphire satchel saucer scarf schooner scroll seagull sequoia shepherd shovel
    shrine shuttle sickle signpost skillet sleigh slipper snowflake sparrow spindle spinach spruce squirrel stable
    staircase starfish statue steamer stirrup stork stream sundial sunflower swallow swan sycamore tambourine tapestry
    tavern teapot telescope temple terrace thicket thimble thistle thunder tiger timber toffee topaz torch tortoise
    totem tower tractor trellis trolley trombone trout trumpet tulip tundra tunnel turbine turnip turtle umbrella
    unicorn valley vanilla vault vessel viaduct village vine viola volcano wagon walrus warbler waterfall weaver
    weasel whale wharf wheat whistle wicker willow windmill window wizard wolf wombat workshop yacht yarrow zebra
    zephyr zinnia zither
"""

ADJECTIVES: tuple[str, ...] = tuple(_ADJECTIVES.split())
NOUNS: tuple[str, ...] = tuple(_NOUNS.split())
