//go:build eviction

// Package eviction is extended by this file, through `go build -overlay`: it exports the answers of the package's own
// unexported functions. test/scripts/record-eviction.ts builds it.
package eviction

import (
	"context"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	evictionapi "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

// GoldenThreshold has an amount or a percentage as its value.
type GoldenThreshold struct {
	Signal string `json:"signal"`
	Value  string `json:"value"`
}

// GoldenObservation is what was measured of a signal.
type GoldenObservation struct {
	Available int64 `json:"available"`
	Capacity  int64 `json:"capacity"`
	AtMs      int64 `json:"atMs"`
}

// GoldenTable is one question: pods with their stats, and the signal that pods are evicted for.
type GoldenTable struct {
	Signal       string                       `json:"signal"`
	ImageFs      bool                         `json:"imageFs"`
	Split        bool                         `json:"split"`
	Pods         []*v1.Pod                    `json:"pods"`
	Stats        []statsapi.PodStats          `json:"stats"`
	Thresholds   []GoldenThreshold            `json:"thresholds"`
	Observations map[string]GoldenObservation `json:"observations"`
}

// GoldenEviction is one pod that exceeds a limit of local storage.
type GoldenEviction struct {
	Pod     int    `json:"pod"`
	Message string `json:"message"`
}

// GoldenText is the message of the pod that is evicted first.
type GoldenText struct {
	Message     string            `json:"message"`
	Annotations map[string]string `json:"annotations"`
}

// GoldenAnswer names pods by their place in the table.
type GoldenAnswer struct {
	Order    []int            `json:"order"`
	Storage  []GoldenEviction `json:"storage"`
	Text     GoldenText       `json:"text"`
	Reclaims []string         `json:"reclaims"`
}

type goldenReclaims struct{ steps []string }

func (r *goldenReclaims) DeleteUnusedImages(context.Context) error {
	r.steps = append(r.steps, "images")
	return nil
}

func (r *goldenReclaims) DeleteAllUnusedContainers(context.Context) error {
	r.steps = append(r.steps, "containers")
	return nil
}

// Golden answers one table.
func Golden(table GoldenTable) (GoldenAnswer, error) {
	places := map[*v1.Pod]int{}
	for i, pod := range table.Pods {
		places[pod] = i
	}
	stats := cachedStatsFunc(table.Stats)
	answer := GoldenAnswer{Order: []int{}, Storage: []GoldenEviction{}, Reclaims: []string{}}

	reclaims := &goldenReclaims{steps: []string{}}
	signal := evictionapi.Signal(table.Signal)
	for _, reclaim := range buildSignalToNodeReclaimFuncs(reclaims, reclaims, table.ImageFs, table.Split)[signal] {
		if err := reclaim(context.Background()); err != nil {
			return answer, err
		}
	}
	answer.Reclaims = reclaims.steps

	manager := &managerImpl{
		recorder:         record.NewFakeRecorder(len(table.Pods)),
		dedicatedImageFs: &table.ImageFs,
		killPodFunc: func(pod *v1.Pod, _ bool, _ *int64, fn func(*v1.PodStatus)) error {
			status := v1.PodStatus{}
			fn(&status)
			answer.Storage = append(answer.Storage, GoldenEviction{Pod: places[pod], Message: status.Message})
			return nil
		},
	}
	manager.localStorageEviction(klog.Background(), table.Pods, stats)

	thresholds, err := goldenThresholds(table.Thresholds)
	if err != nil {
		return answer, err
	}
	observations := goldenObservations(table.Observations)

	ranked := append([]*v1.Pod{}, table.Pods...)
	buildSignalToRankFunc(table.ImageFs, table.Split)[signal](ranked, stats)
	for _, pod := range ranked {
		answer.Order = append(answer.Order, places[pod])
	}
	if len(ranked) > 0 {
		answer.Text.Message, answer.Text.Annotations =
			evictionMessage(signalToResource[signal], ranked[0], stats, thresholds, observations)
	}
	return answer, nil
}

func goldenObservations(measured map[string]GoldenObservation) signalObservations {
	observations := signalObservations{}
	for name, observed := range measured {
		format := resource.DecimalSI
		switch signalToResource[evictionapi.Signal(name)] {
		case v1.ResourceMemory, v1.ResourceEphemeralStorage:
			format = resource.BinarySI
		}
		observations[evictionapi.Signal(name)] = signalObservation{
			available: resource.NewQuantity(observed.Available, format),
			capacity:  resource.NewQuantity(observed.Capacity, format),
			time:      metav1.NewTime(goldenTime(observed.AtMs)),
		}
	}
	return observations
}

func goldenTime(ms int64) time.Time { return time.UnixMilli(1_700_000_000_000 + ms) }

// GoldenSequence is a question about thresholds: the settings, and what is measured in each round.
type GoldenSequence struct {
	Hard        map[string]string `json:"hard"`
	Soft        map[string]string `json:"soft"`
	Graces      map[string]string `json:"graces"`
	Reclaims    map[string]string `json:"reclaims"`
	Allocatable []string          `json:"allocatable"`
	ImageFs     bool              `json:"imageFs"`
	Split       bool              `json:"split"`
	HoldMs      int64             `json:"holdMs"`
	Rounds      []struct {
		NowMs        int64                        `json:"nowMs"`
		Observations map[string]GoldenObservation `json:"observations"`
	} `json:"rounds"`
}

// GoldenRound is what one round decides: the node's conditions, and the thresholds that pods are evicted for.
type GoldenRound struct {
	Conditions []string `json:"conditions"`
	Met        []string `json:"met"`
}

// GoldenRounds answers one sequence with the functions of synchronize.
func GoldenRounds(sequence GoldenSequence) ([]GoldenRound, error) {
	all, err := ParseThresholdConfig(
		sequence.Allocatable, sequence.Hard, sequence.Soft, sequence.Graces, sequence.Reclaims)
	if err != nil {
		return nil, err
	}
	// The error says that a written threshold of containerfs is ignored.
	all, _ = UpdateContainerFsThresholds(all, sequence.ImageFs, sequence.Split)
	logger := klog.Background()
	answers := []GoldenRound{}
	var past []evictionapi.Threshold
	var firstAt thresholdsObservedAt
	var conditionsAt nodeConditionsObservedAt
	var last signalObservations
	for _, round := range sequence.Rounds {
		now := goldenTime(round.NowMs)
		observations := goldenObservations(round.Observations)
		met := mergeThresholds(
			thresholdsMet(logger, all, observations, false), thresholdsMet(logger, past, observations, true))
		firstAt = thresholdsFirstObservedAt(met, firstAt, now)
		conditionsAt = nodeConditionsLastObservedAt(nodeConditions(met), conditionsAt, now)
		answer := GoldenRound{Conditions: []string{}, Met: []string{}}
		hold := time.Duration(sequence.HoldMs) * time.Millisecond
		for _, condition := range nodeConditionsObservedSince(conditionsAt, hold, now) {
			answer.Conditions = append(answer.Conditions, string(condition))
		}
		past = thresholdsMetGracePeriod(logger, firstAt, now)
		for _, threshold := range thresholdsUpdatedStats(logger, past, observations, last) {
			answer.Met = append(answer.Met, string(threshold.Signal)+" "+threshold.GracePeriod.String())
		}
		last = observations
		sort.Strings(answer.Conditions)
		sort.Strings(answer.Met)
		answers = append(answers, answer)
	}
	return answers, nil
}

func goldenThresholds(written []GoldenThreshold) ([]evictionapi.Threshold, error) {
	thresholds := []evictionapi.Threshold{}
	for _, one := range written {
		threshold, err := parseThresholdStatement(evictionapi.Signal(one.Signal), one.Value)
		if err != nil {
			return nil, err
		}
		thresholds = append(thresholds, *threshold)
	}
	return thresholds, nil
}
